import { expect, test } from "vitest";
import type { AliasState, ReleasePlatform } from "../../lib/cli/release-shift.ts";
import { rollBack, shift } from "../../lib/cli/release-shift.ts";

const NAMES = ["list", "api"] as const;
const TARGET = {
  functions: NAMES.map((name) => ({ name, alias: "live", version: "2" })),
  alarms: ["errors"],
};

/** Aliases on version 1. `onRoute` can fail a change before it is made, and `loses` the response to one that was made. */
function createAliases() {
  const aliases = new Map<string, AliasState>(NAMES.map((name) => [name, { version: "1", revision: "r0" }]));
  const log: string[] = [];
  let changes = 0;
  const stateOf = (name: string) => aliases.get(name) ?? { version: "", revision: "" };
  const faults = { onAlarms: () => {}, fails: (_change: string) => false, loses: (_change: string) => false };
  const platform: ReleasePlatform = {
    find: async ({ name }) => stateOf(name),
    async route({ name }, { revision, ...routing }) {
      const change = describe(name, routing);
      if (faults.fails(change)) throw new Error(`${change} is throttled`);
      if (revision !== stateOf(name).revision) throw new Error(`${name} has been changed`);
      const next = { ...routing, revision: `r${++changes}` };
      aliases.set(name, next);
      if (faults.loses(change)) throw new Error(`the response to ${change} is lost`);
      return next;
    },
    async findFiring() {
      faults.onAlarms();
      return [];
    },
  };
  const run = (weight = 0.1) =>
    shift(TARGET, platform, {
      ...{ watchMs: 1, weight, pollMs: 1 },
      wait: async () => "elapsed",
      log: (line) => log.push(line),
    });
  const routes = () => NAMES.map((name) => describe(name, stateOf(name)));
  const runRollback = () => rollBack(TARGET, platform, { log: (line) => log.push(line) });
  return { aliases, faults, log, run, runRollback, routes };
}

function describe(name: string, { version, canary }: Omit<AliasState, "revision">): string {
  return `${name} ${version}${canary === undefined ? "" : ` + ${canary.version}`}`;
}

test("if someone else changes one alias, the others get all traffic back, whichever comes first", async () => {
  for (const [changed, expected] of [
    ["list", ["list 3", "api 1"]],
    ["api", ["list 1", "api 3"]],
  ] as const) {
    const { aliases, faults, run, routes } = createAliases();
    let looks = 0;
    faults.onAlarms = () => {
      if (looks++ === 1) aliases.set(changed, { version: "3", revision: "other" });
    };
    await expect(run()).rejects.toThrow(`${changed} has been changed`);
    expect(routes()).toEqual(expected);
  }
});

test.each(["list 1 + 2", "api 1 + 2", "list 2", "api 2"])(
  "if the response to the change '%s' is lost, its alias gets all traffic back too",
  async (lost) => {
    const { faults, run, routes } = createAliases();
    faults.loses = (change) => change === lost;
    await expect(run()).rejects.toThrow(`the response to ${lost} is lost`);
    expect(routes()).toEqual(["list 1", "api 1"]);
  },
);

test("a function whose traffic cannot be given back is named, and the others are given back", async () => {
  const { faults, log, run, routes } = createAliases();
  faults.fails = (change) => change === "api 2" || change === "list 1";
  await expect(run()).rejects.toThrow("api 2 is throttled");
  expect(routes()).toEqual(["list 2", "api 1"]);
  expect(log.at(-2)).toBe(
    "list: the traffic could not be given back to version 1 (list 1 is throttled). Repeat with --rollback.",
  );
  expect(log.at(-1)).toBe("api: all requests go to version 1 again.");
});

test("a rollback reverts the part of the traffic that a failed release left shifted, and a second one finds nothing", async () => {
  const { faults, run, runRollback, routes } = createAliases();
  faults.fails = (change) => change === "api 1 + 2" || change === "list 1";
  await expect(run()).rejects.toThrow("api 1 + 2 is throttled");
  expect(routes()).toEqual(["list 1 + 2", "api 1"]);
  faults.fails = () => false;
  expect(await runRollback()).toEqual({
    ok: true,
    state: "rolled_back",
    functions: [{ function: "list", from: "2", to: "1" }],
  });
  expect(routes()).toEqual(["list 1", "api 1"]);
  expect(await runRollback()).toMatchObject({ ok: false, code: "no_previous_version" });
});

test.each([1, 7, 29, 57, 58, 99])("a part of %i percent is logged as a whole number", async (percent) => {
  const { log, run } = createAliases();
  await run(percent / 100);
  expect(log[0]).toBe(`list: ${percent} % of the requests go to version 2, the others to 1.`);
});
