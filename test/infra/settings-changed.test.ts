import { describe, expect, test, vi } from "vitest";
import { production, success, update } from "./harness/scenario.ts";

vi.setConfig({ testTimeout: 120_000 });

/** Every setting that adds resources. */
const everything = {
  ...production,
  "store-orders:accessLogs": "manage",
  "store-orders:alarmEmail": "ops@example.com",
  "store-orders:waf": { requestsPerFiveMinutes: 3_000 },
  "store-orders:events": { bus: "default" },
};
/** What has data, or an address that others know. */
const LASTING =
  /(dynamodb\/table:Table|apigateway\/(restApi|domainName|basePathMapping):\w+|acm\/certificate:Certificate|DnsRecord)::/;

describe("on a live stack", () => {
  const off = success(update(production));
  const on = off.then(({ state }) => success(update(everything, { state })));
  const offAgain = on.then(({ state }) => success(update(production, { state })));
  const names = (operations: ReadonlyMap<string, string>, ...kinds: readonly string[]) =>
    [...operations].flatMap(([urn, kind]) => (kinds.includes(kind) ? [urn] : [])).toSorted();

  test("settings that add resources are turned on and off again, and what lasts is at most updated", async () => {
    const created = names((await on).operations, "create");
    expect(created.length).toBeGreaterThan(15);
    for (const { operations } of [await on, await offAgain])
      expect(names(operations, "replace", "delete").filter((urn) => LASTING.test(urn))).toEqual([]);
    expect(names((await offAgain).operations, "delete")).toEqual(created);
    expect(names((await on).operations, "delete")).toEqual([]);
  });

  test("the stream of the orders is turned on and off without a replacement", async () => {
    const table = [...(await on).operations].filter(([urn]) => /Table::.*-orders$/.test(urn));
    expect(table.map(([, kind]) => kind)).toEqual(["update"]);
  });
});
