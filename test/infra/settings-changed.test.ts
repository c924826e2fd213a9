import { describe, expect, test } from "vitest";
import { cloud } from "./harness/cloud.ts";
import type { State } from "./harness/deployment.ts";
import type { ZoneRecord } from "./harness/dns-records.ts";
import { type Outcome, ofType, operationOn } from "./harness/program.ts";
import { closed, everything, foreignRecord, production, success, update } from "./harness/scenario.ts";
import { earlierState } from "./harness/states.ts";

/** What has data, or an address that others know. */
const LASTING =
  /(dynamodb\/table:Table|apigateway\/(restApi|domainName|basePathMapping):\w+|acm\/certificate:Certificate|DnsRecord)::/;

const ALIAS = "aws:lambda/alias:Alias";
const FUNCTION = "aws:lambda/function:Function";

/** An update for which both functions have the published version. */
function updateTo(
  version: string,
  state: State,
  config: Readonly<Record<string, unknown>> = production,
  records: readonly ZoneRecord[] = [],
) {
  const published = [...state].map(([urn, entry]) => {
    const outputs = { ...entry.outputs, version };
    return [urn, entry.registration.type === FUNCTION ? { ...entry, outputs } : entry] as const;
  });
  return success(update(config, { state: new Map(published), cloud: cloud({ records }) }));
}

// The last updates of the earlier version left the aliases to a canary.
const off = updateTo("2", earlierState("program"));
const comment = "store-orders/production, kept by Pulumi";
const route = { ...foreignRecord, type: "CNAME", content: "the API", comment };
const on = off.then(({ state }) => updateTo("2", state, { ...everything, ...closed }, [route]));
const offAgain = on.then(({ state }) => updateTo("2", state));

describe("on a live stack", () => {
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

const aliasesOf = (outcome: Outcome) =>
  ofType(outcome, ALIAS).map(({ name, inputs, ignoreChanges }) => [
    operationOn(outcome, ALIAS, name),
    inputs["functionVersion"],
    ignoreChanges,
  ]);
const both = (operation: string, version: string) => Array(2).fill([operation, version, []]);

test("an update serves the new version at once, and so does one that goes back", async () => {
  expect(aliasesOf(await off)).toEqual(both("update", "2"));
  expect((await off).registrations.filter(({ name }) => name.includes("-release-"))).toEqual([]);
  // Aliases that were moved by hand stay where they are until another version is published.
  expect(aliasesOf(await offAgain)).toEqual(both("same", "2"));
  expect(aliasesOf(await updateTo("3", (await offAgain).state))).toEqual(both("update", "3"));
});
