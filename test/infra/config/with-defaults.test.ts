import { describe, expect, test } from "vitest";
import { withDefaults } from "../../../infra/config/settings.ts";
import { defineDomains } from "../../../lib/domains/parse.ts";
import { InvalidInputError } from "../../../lib/errors.ts";

describe("settings in a program", () => {
  const hosts = defineDomains({ primary: "orders.example.com" }, { plan: "pro" });
  const long = `${"a".repeat(60)}.example.com`;

  test("withDefaults normalises the hosts and adds the defaults", () => {
    const settings = withDefaults({ plan: "pro", domains: hosts, hold: ["ORDERS.example.com."] });
    expect(settings).toMatchObject({ domains: hosts, hold: ["orders.example.com"], dns: "cloudflare" });
  });

  test.each<[string, Parameters<typeof withDefaults>[0], string[]]>([
    ["domains on the Free plan", { domains: hosts }, ["domains"]],
    ["a host that is not configured", { plan: "pro", domains: hosts, hold: ["order.example.com"] }, ["hold"]],
    ["a host setting without domains", { reverify: { "orders.example.com": 1 } }, ["reverify"]],
    [
      "a host that is too long for a certificate",
      { plan: "pro", domains: defineDomains({ primary: long }, { plan: "pro" }) },
      ["domains"],
    ],
    [
      "values out of range, all at once",
      { memoryMiB: 1, banPolicy: { minutes: 0 } },
      ["memoryMiB", "banPolicy.minutes"],
    ],
  ])("withDefaults rejects %s", (_case, settings, paths) => {
    let thrown: unknown;
    try {
      withDefaults(settings);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(InvalidInputError);
    expect((thrown as InvalidInputError).issues.map(({ path }) => path)).toEqual(paths);
  });

  test("withDefaults takes only domains that have been validated", () => {
    // @ts-expect-error: a literal has not been validated
    expect(() => withDefaults({ plan: "pro", domains: { primary: "orders.local" } })).toThrow("orders.local");
  });
});
