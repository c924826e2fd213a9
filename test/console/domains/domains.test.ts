import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import type { DomainsOptions } from "../../../lib/console/domains/hosts.ts";
import { AUTHORITIES } from "../../../lib/domains/verification/caa.ts";
import { useSession } from "../../support/console.ts";

const FILE =
  "domains:\n  primary: orders.example.com\n  redirects:\n    - { from: www.example.com, to: orders.example.com, status: 301 }\n";

let path: string;
let console: Awaited<ReturnType<typeof useSession>>;
let version: string;
beforeEach(async () => {
  const directory = mkdtempSync(join(tmpdir(), "console-role-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  path = join(directory, "domains.yaml");
  writeFileSync(path, FILE);
  console = await start({ plan: "pro", target: "platform.example.net" });
  const shown = await console.textOf("domains/www.example.com");
  version = /name="version" value="([^"]+)"/.exec(shown)?.[1] ?? "";
});

function start(settings: Pick<DomainsOptions, "plan" | "target">) {
  return useSession({
    domains: {
      path,
      ...settings,
      resolver: async () => ({ outcome: "nodata" }),
      authorities: [AUTHORITIES.letsencrypt],
      probe: async () => ({ outcome: "unreachable", found: "" }),
    },
  });
}

test("a domain is added in the normal form of its name, to the aliases if nothing else is chosen", async () => {
  const added = await console.post("domains", { version, host: " New.Example.com. " });
  expect([added.status, new URL(added.url).pathname]).toEqual([
    200,
    expect.stringMatching(/\/domains\/new\.example\.com$/),
  ]);
  expect(readFileSync(path, "utf8")).toBe(`${FILE}  aliases: [ new.example.com ]\n`);
});

test("a role is changed in the file: the page of a host says where", async () => {
  const text = await console.textOf("domains/www.example.com");
  expect(text).toContain(
    "Redirect to orders.example.com (301). To change its role, edit <code>primary</code>",
  );
  expect(text).not.toContain('name="role"');
  writeFileSync(path, "domains:\n  primary: www.example.com\n  aliases: [orders.example.com]\n");
  expect(await console.textOf("domains/www.example.com")).toContain("Primary. To change its role");
  expect(await console.textOf("domains/orders.example.com")).toContain("Alias. To change its role");
});

test.each([{ list: "" }, {}])(
  "a removal leads to the list, also from the page of the host (%j)",
  async (fields) => {
    const response = await console.post("domains/www.example.com/remove", { version, ...fields });
    const text = await response.text();
    expect([response.status, text.includes("<h1>Domains</h1>")]).toEqual([200, true]);
    expect(text).toContain("www.example.com has been removed and is not served any more.");
    expect(readFileSync(path, "utf8")).not.toContain("www.example.com");
  },
);

test("with a plan that has no domains, the page says so at the line of the mapping, and adds none", async () => {
  const message = "Custom domains need the plan &#39;pro&#39; or above, but the plan is &#39;free&#39;.";
  console = await start({ plan: "free" });
  for (const address of ["domains", "domains/www.example.com"]) {
    const text = await console.textOf(address);
    expect(text).toContain(`Line 2, column 3`);
    expect(text).toContain(message);
  }
  writeFileSync(path, "domains: {}\n");
  [, version = ""] = /name="version" value="([^"]+)"/.exec(await console.textOf("domains")) ?? [];
  const added = await console.post("domains", { version, host: "www.example.com" });
  expect([added.status, (await added.text()).includes(message)]).toEqual([422, true]);
  expect(readFileSync(path, "utf8")).toBe("domains: {}\n");
});

test("without the target of the records, the list and the page of a host say what to start with, and offer no Verify", async () => {
  expect(await console.textOf("domains")).not.toContain("--target");
  console = await start({ plan: "pro" });
  for (const address of ["domains", "domains/www.example.com"]) {
    const text = await console.textOf(address);
    expect(text.split("Start it again with <code>--target HOST</code>"), address).toHaveLength(2);
    expect(text).not.toMatch(/choose Verify|\/verify"/);
  }
});

test("the list shows the state of each domain, why, and what to do, and goes on by itself without scripts", async () => {
  const first = await console.textOf("domains");
  expect(first).toContain('<noscript><meta http-equiv="refresh" content="3"></noscript>');
  await expect.poll(() => console.textOf("domains")).not.toContain("still to be looked up");
  const text = await console.textOf("domains");
  expect(text).not.toContain('http-equiv="refresh"');
  expect(text.match(/Waiting for DNS/g)).toHaveLength(2);
  expect(text.match(/<strong>The record is missing\.<\/strong>/g)).toHaveLength(2);
  expect(text).toContain("add the CNAME record: name orders, value platform.example.net, TTL 3600.");
  const all = await console.post("domains/verify", {});
  expect([all.status, /Done\.|Not done\./.test((await all.text()).split("</template>")[1] ?? "")]).toEqual([
    200,
    false,
  ]);
});

test("no Done. stands above the result of a verification, and an error of a field is shown once", async () => {
  const verified = await console.post("domains/www.example.com/verify", {});
  const [, main = ""] = (await verified.text()).split("</template>");
  expect(main).toContain("Waiting for DNS");
  expect(main).not.toContain("Done.");
  const added = await console.post("domains", { version, host: "localhost" });
  const [, shown = ""] = (await added.text()).split("</template>");
  expect([added.status, shown.match(/one label|two labels|single label/g)?.length]).toEqual([422, 1]);
  expect(shown).not.toContain("host: ");
});
