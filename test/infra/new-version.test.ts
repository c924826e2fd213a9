import { expect, test, vi } from "vitest";
import type { State } from "./harness/deployment.ts";
import { ofType, operationOn } from "./harness/program.ts";
import { production, success, update } from "./harness/scenario.ts";
import { earlierState } from "./harness/states.ts";

vi.setConfig({ testTimeout: 120_000 });

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
