import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import * as z from "zod";
import { componentSchema } from "../../.config/component-schema.ts";
import { stackFileJsonSchema } from "../../.config/stack-file-schema.ts";
import { domainsFileJsonSchema, domainsSchema, parseDomainsFile } from "../../lib/domains/parse.ts";
import { settingRows } from "./markdown.ts";

const DOMAINS_FILE = "test/examples/domains-file/domains.yaml";
const FILES = [...globSync("Pulumi.*.yaml").toSorted(), DOMAINS_FILE];

/** The schema that the first line of a file names, for editors. */
const schemaOf = (file: string) => {
  const [, path = ""] = /^# yaml-language-server: \$schema=(\S+)\n/.exec(readFileSync(file, "utf8")) ?? [];
  const schema = readFileSync(join(dirname(file), path), "utf8");
  // zod reads every keyword but this one.
  return z.fromJSONSchema(
    JSON.parse(schema, (key, value) => (key === "dependentRequired" ? undefined : value)),
  );
};
const contentOf = (file: string) => parse(readFileSync(file, "utf8"));
const accepts = (file: string, content: unknown) => schemaOf(file).safeParse(content).success;

const { version } = JSON.parse(readFileSync("package.json", "utf8"));
/** By setting: its row in the table of the document, as sentences. */
const meanings = new Map(
  settingRows().map(([key = "", meaning = "", fallback]) => [
    key,
    `${meaning.charAt(0).toUpperCase()}${meaning.slice(1)}.${fallback === "none" ? "" : ` Default: ${fallback}.`}`,
  ]),
);

describe("the schemas for editors and for the languages of Pulumi", () => {
  // After a change of the schemas: vitest run --config test/vitest.config.ts test/documents/editor-schemas.test.ts -u
  test.each([
    ["lib/domains/domains.schema.json", domainsFileJsonSchema()],
    ["infra/config/stack.schema.json", stackFileJsonSchema()],
    ["infra/component/schema.json", componentSchema(version, meanings)],
  ])("%s is the one that the code generates", async (path, schema) => {
    await expect(`${JSON.stringify(schema, null, 2)}\n`).toMatchFileSnapshot(`../../${path}`);
  });

  test.each(FILES)("%s names its schema in the first line and satisfies it", (file) => {
    expect(schemaOf(file).safeParse(contentOf(file))).toMatchObject({ success: true });
  });

  test("editors ask for the primary of aliases and redirects, and say what a hostname looks like", () => {
    const { primary } = domainsSchema.shape;
    expect(z.toJSONSchema(domainsSchema, { io: "input" })["dependentRequired"]).toEqual({
      aliases: ["primary"],
      redirects: ["primary"],
    });
    expect(z.toJSONSchema(primary, { io: "input" })["patternErrorMessage"]).toContain("orders.example.com");
  });

  test("the example of a domains file is valid", () => {
    expect(parseDomainsFile(contentOf(DOMAINS_FILE), { plan: "pro" })).toMatchObject({ ok: true });
  });

  test.each([
    ["a mistyped key", { primery: "orders.example.com" }],
    ["a URL", { primary: "https://orders.example.com" }],
    ["a port", { primary: "orders.example.com:443" }],
    ["a wildcard", { primary: "*.example.com" }],
    ["a name with one label", { primary: "orders" }],
    [
      "a temporary redirect",
      { primary: "a.example.com", redirects: [{ from: "b.c", to: "a.c", status: 302 }] },
    ],
    ["a redirect without a target", { primary: "a.example.com", redirects: [{ from: "b.example.com" }] }],
  ])("%s is underlined in domains files and in stack files", (_case, domains) => {
    expect(accepts(DOMAINS_FILE, { domains })).toBe(false);
    expect(accepts("Pulumi.production.yaml", { config: { "store-orders:domains": domains } })).toBe(false);
  });

  test.each(["bücher.example.com", "bücher。example。com", "Orders.Example.com.", "a.b.c.example.co.uk"])(
    "%s is not underlined",
    (primary) => {
      expect(accepts(DOMAINS_FILE, { domains: { primary } })).toBe(true);
      expect(parseDomainsFile({ domains: { primary } }, { plan: "pro" }).ok).toBe(true);
    },
  );

  test("in stack files a mistyped key of this namespace is underlined, those of others are not", () => {
    const file = "Pulumi.staging.yaml";
    expect(accepts(file, { config: { "store-orders:domain": {} } })).toBe(false);
    expect(accepts(file, { config: { "store-orders:memoryMiB": 64 } })).toBe(false);
    expect(accepts(file, { config: { "aws:region": "eu-central-1" } })).toBe(true);
    expect(
      accepts(file, { config: { "store-orders:alarmEmail": { secure: "v1:…" } }, encryptionsalt: "v1" }),
    ).toBe(true);
  });
});
