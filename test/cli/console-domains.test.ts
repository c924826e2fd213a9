import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ConsoleDomainsFlags, readConsoleDomains } from "../../lib/cli/console-domains.ts";

const OUTPUTS = {
  "orders.example.com": {
    role: "primary",
    record: { name: "orders", zone: "example.com", value: "d-1.platform.example.net" },
  },
};

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "console-domains-"));
});
afterAll(() => rmSync(directory, { recursive: true }));

const read = (flags: Partial<ConsoleDomainsFlags>, env = {}, input = "") =>
  readConsoleDomains({ authority: "amazon", ...flags }, env, { input: Readable.from([input]) as never });

describe("what the console's domains come from", () => {
  test("a file, with the plan of the project and the platform host in normal form", async () => {
    const options = await read({ domains: "d.yaml", plan: "pro", target: "Platform.Example.net." });
    expect(options?.source).toEqual({
      ...{ kind: "file", path: "d.yaml", plan: "pro", target: "platform.example.net" },
    });
  });

  test("without options, what 'serve' reads from the environment", async () => {
    const env = { STORE_ORDERS_DOMAINS: "e.yaml", STORE_ORDERS_PLAN: "pro" };
    expect((await read({}, env))?.source).toEqual({
      ...{ kind: "file", path: "e.yaml", plan: "pro" },
    });
    expect(await read({})).toBeUndefined();
  });

  test("a file of outputs, which is read again each time", async () => {
    const stack = join(directory, "outputs.json");
    writeFileSync(stack, JSON.stringify(OUTPUTS));
    const options = await read({ stack });
    if (options?.source.kind !== "stack") throw new Error("This is no stack.");
    expect((await options.source.read()).hosts).toMatchObject([{ host: "orders.example.com" }]);
    writeFileSync(stack, "{}");
    expect((await options.source.read()).hosts).toEqual([]);
  });

  test("standard input, which is read once", async () => {
    const options = await read({ stack: "-" }, {}, JSON.stringify(OUTPUTS));
    if (options?.source.kind !== "stack") throw new Error("This is no stack.");
    for (let time = 0; time < 2; time++) expect((await options.source.read()).hosts).toHaveLength(1);
  });

  test.each<[Partial<ConsoleDomainsFlags>, string]>([
    [{ stack: "-", domains: "d.yaml" }, "Omit --domains and --target, or omit --stack."],
    [{ stack: "-", target: "a.example.com" }, "Omit --domains and --target, or omit --stack."],
    [{ target: "a.example.com" }, "Give the domains file, too, with --domains."],
    [{ domains: "d.yaml", target: "https://a.example.com" }, "This is a URL."],
    [{ domains: "d.yaml", authority: "nobody" }, "is not known"],
    [{ domains: "d.yaml", resolver: "dns.example.com" }, "is not the address of a DNS server"],
    [{ stack: "-" }, "Pass what 'pulumi stack output domains --json' prints."],
  ])("%j stops the console at its start", async (flags, message) => {
    await expect(read(flags, {}, '"nothing"')).rejects.toThrow(message);
  });
});
