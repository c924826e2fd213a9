import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { createTestAuthority } from "../../support/certificates.ts";
import { createCommandLine, waitForExit, waitForOutput } from "../../support/command-line.ts";
import { startDnsServer } from "../../support/dns-server.ts";
import { startTlsServer, type TlsServer } from "../../support/tls-server.ts";

const cli = createCommandLine();
const authority = createTestAuthority();
const TARGET = "abc.platform.example";
const ZONE = `${TARGET} A 127.0.0.1\norders.example.com CNAME ${TARGET}\nwww.example.com CNAME ${TARGET}`;
let tls: TlsServer;

beforeAll(async () => {
  const hosts = ["orders.example.com", "www.example.com"];
  tls = await startTlsServer(Object.fromEntries(hosts.map((host) => [host, authority.issue([host])])));
  writeFileSync(join(cli.directory, "ca.pem"), authority.cert);
  const domains = {
    primary: "orders.example.com",
    redirects: [{ from: "www.example.com", to: "orders.example.com" }],
  };
  writeFileSync(join(cli.directory, "domains.json"), JSON.stringify({ domains }));
});
afterAll(async () => {
  await tls[Symbol.asyncDispose]();
  cli[Symbol.dispose]();
});

const env = { NODE_EXTRA_CA_CERTS: join(cli.directory, "ca.pem") };
const watch = (address: string, ...rest: readonly string[]) => [
  ...["domains", "watch", "domains.json", "--target", TARGET],
  ...["--resolver", address, "--tls-port", `${tls.port}`, ...rest],
];

test("domains watch prints one line per change, keeps its state, and exits with 0 once every host is live", async () => {
  await using server = await startDnsServer(ZONE);
  const { status, stdout, stderr } = await cli.run(watch(server.address), { env });
  expect([status, stderr]).toEqual([0, ""]);
  const words = stdout
    .trim()
    .split("\n")
    .map((line) => line.split("  ").slice(1, 3).join(" "));
  expect(words).toEqual([
    "orders.example.com verified",
    "orders.example.com certificate_pending",
    "orders.example.com live",
    "www.example.com verified",
    "www.example.com certificate_pending",
    "www.example.com live",
  ]);
  const { watchedDomains } = JSON.parse(
    readFileSync(join(cli.directory, ".data/domains-watch.json"), "utf8"),
  );
  expect(watchedDomains).toMatchObject([
    { host: "orders.example.com", state: "live" },
    { host: "www.example.com", state: "live" },
  ]);
  const again = await cli.run(watch(server.address), { env });
  expect([again.status, again.stdout.trim().split("\n")]).toEqual([
    0,
    [expect.stringContaining("orders.example.com  live"), expect.stringContaining("www.example.com  live")],
  ]);
});

test("domains watch exits with 1 if a host needs attention, and reads a stack's outputs", async () => {
  const outputs = {
    "orders.example.com": {
      role: "primary",
      state: "live",
      record: { type: "CNAME", name: "orders", ttl: 3600, value: TARGET },
    },
    "www.example.com": {
      role: "redirect",
      state: "live",
      record: { type: "CNAME", name: "www", ttl: 3600, value: TARGET },
    },
  };
  await using server = await startDnsServer(`${ZONE}\nother.example.com A 192.0.2.1`);
  const forbidding = ZONE.replace(
    `www.example.com CNAME ${TARGET}`,
    `www.example.com CNAME d-b.platform.example\nd-b.platform.example A 127.0.0.1\nd-b.platform.example CAA 0 issue "letsencrypt.org"`,
  );
  server.update(forbidding);
  outputs["www.example.com"].record.value = "d-b.platform.example";
  await using others = await startTlsServer({
    "orders.example.com": authority.issue(["orders.example.com"]),
    "*": authority.issue(["*.platform.example"]),
  });
  const { status, stdout } = await cli.run(
    [
      "domains",
      "watch",
      "--stack",
      "-",
      "--resolver",
      server.address,
      "--tls-port",
      `${others.port}`,
      "--state",
      "stack-state.json",
      "--json",
    ],
    { env, input: JSON.stringify(outputs) },
  );
  expect(status).toBe(1);
  const changes = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(changes.at(-1)).toMatchObject({
    host: "www.example.com",
    state: "needs_attention",
    attention: "certificate_forbidden",
    todo: [
      expect.stringContaining("Ask its operator"),
      expect.any(String),
      expect.any(String),
      expect.any(String),
    ],
  });
  const schema = z.fromJSONSchema(JSON.parse((await cli.run(["domains", "schema", "watch"])).stdout));
  for (const change of changes) expect(schema.safeParse(change)).toMatchObject({ success: true });
  expect(schema.safeParse({ ...changes[0], state: "done" }).success).toBe(false);
});

test("an interrupted domains watch exits with 1, and the next one continues in the same state", async () => {
  await using server = await startDnsServer(ZONE.replace(`www.example.com CNAME ${TARGET}`, ""));
  const args = watch(server.address, "--state", "state/kept.json", "--json");
  const since = async () => {
    const child = cli.spawn(args, { env });
    const exit = waitForExit(child);
    const output = await waitForOutput(child, /"pending_dns".*\n/);
    child.kill("SIGINT");
    const { status, stderr } = await exit;
    expect([status, stderr]).toEqual([1, "Stopped. The same command continues the watch.\n"]);
    const change = output
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line))
      .find(({ host }) => host === "www.example.com");
    return change.since;
  };
  const first = await since();
  expect(await since()).toBe(first);
});

test.each([
  ["is not one of a watch", "domains.json", "This is not the state of a watch."],
  ["cannot be read", ".", "This is a directory; name a file (EISDIR). Give another path"],
  ["cannot be written", "ca.pem/state.json", "The file cannot be"],
])(
  "domains watch with a state file that %s exits with 2 and leaves it as it is",
  async (_name, path, reason) => {
    const before = readFileSync(join(cli.directory, "domains.json"), "utf8");
    const { status, stdout, stderr } = await cli.run(watch("127.0.0.1:9", "--state", path), { env });
    expect([status, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(reason);
    expect(readFileSync(join(cli.directory, "domains.json"), "utf8")).toBe(before);
  },
);
