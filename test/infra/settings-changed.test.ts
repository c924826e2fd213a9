import { describe, expect, test, vi } from "vitest";
import type { State } from "./harness/deployment.ts";
import { ofType, operationOn } from "./harness/program.ts";
import { everything, production, success, update } from "./harness/scenario.ts";
import { earlierState } from "./harness/states.ts";

vi.setConfig({ testTimeout: 120_000 });

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

const ALIAS = "aws:lambda/alias:Alias";
const FUNCTION = "aws:lambda/function:Function";

/** An update for which both functions have the published version. */
async function updateTo(version: string, state: State) {
  const published = [...state].map(([urn, entry]) => {
    const outputs = { ...entry.outputs, version };
    return [urn, entry.registration.type === FUNCTION ? { ...entry, outputs } : entry] as const;
  });
  const outcome = await success(update(production, { state: new Map(published) }));
  const aliases = ofType(outcome, ALIAS).map(({ name, inputs, ignoreChanges }) => [
    operationOn(outcome, ALIAS, name),
    inputs["functionVersion"],
    ignoreChanges,
  ]);
  return { aliases, outcome };
}
const both = (operation: string, version: string) => Array(2).fill([operation, version, []]);

test("an update serves the new version at once, and so does one that goes back", async () => {
  // Its last updates left the aliases to a canary.
  const faulty = await updateTo("2", earlierState("program"));
  expect(faulty.aliases).toEqual(both("update", "2"));
  expect(faulty.outcome.registrations.filter(({ name }) => name.includes("-release-"))).toEqual([]);
  // Aliases that were moved by hand stay where they are until another version is published.
  expect((await updateTo("2", faulty.outcome.state)).aliases).toEqual(both("same", "2"));
  expect((await updateTo("3", faulty.outcome.state)).aliases).toEqual(both("update", "3"));
});
