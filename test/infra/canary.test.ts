import { describe, expect, test, vi } from "vitest";
import type { State } from "./harness/deployment.ts";
import { endOfSuite, find, type Outcome, ofType, operationOn } from "./harness/program.ts";
import { production, success, update } from "./harness/scenario.ts";

vi.setConfig({ testTimeout: 120_000 });

const ALIAS = "aws:lambda/alias:Alias";
const FUNCTION = "aws:lambda/function:Function";
const aliases = ["store-orders-production-list-alias", "store-orders-production-api-alias"];
const withoutCanary = { ...production, "store-orders:canary": false };

/** The state after an update that published version 2 of both functions. */
const withVersion2 = (state: State): State =>
  new Map(
    [...state].map(([urn, entry]) => {
      const { type } = entry.registration;
      return [urn, type === FUNCTION ? { ...entry, outputs: { ...entry.outputs, version: "2" } } : entry];
    }),
  );
const next = async (config: typeof production, first: Promise<Outcome>, signal?: AbortSignal) =>
  success(update(config, { state: withVersion2((await first).state), signal }));
const versions = (outcome: Outcome) => ofType(outcome, ALIAS).map(({ inputs }) => inputs["functionVersion"]);

describe("with a canary", () => {
  const first = success(update(production));
  const second = next(production, first, endOfSuite());

  test("the first version gets all traffic at once", async () => {
    expect(versions(await first)).toEqual(["1", "1"]);
  });

  test("an update publishes a version, but neither moves an alias nor undoes what a release did to it", async () => {
    const { operations } = await second;
    for (const name of aliases) {
      expect(operationOn({ operations }, ALIAS, name)).toBe("same");
      expect(find(await second, name).ignoreChanges).toEqual([
        "functionVersion",
        "routingConfig",
        "description",
      ]);
    }
  });

  test("the output names the new version of each function, and the alarms that watch it", async () => {
    const { stackOutputs, registrations } = await second;
    const [list] = (stackOutputs["release"] as { functions: object[] }).functions;
    expect(list).toEqual({
      ...{ alias: "live", version: "2" },
      name: "store-orders-production-list-function-1a2b3c4",
    });
    const { alarms } = stackOutputs["release"] as { alarms: string[] };
    expect(alarms).toHaveLength(4);
    const names = registrations.map(({ inputs }) => inputs["name"]);
    expect(alarms.filter((alarm) => !names.includes(alarm))).toEqual([]);
  });

  test("the alarms watch the new version alone, for a minute, and notify nobody", async () => {
    const alarm = (suffix: string) =>
      second.then((outcome) => find(outcome, `store-orders-production-${suffix}`).inputs);
    const quick = { period: 60, evaluationPeriods: 1, threshold: 0 };
    expect(await alarm("list-release-errors")).toMatchObject({
      ...quick,
      dimensions: {
        FunctionName: "store-orders-production-list-function-1a2b3c4",
        Resource: "store-orders-production-list-function-1a2b3c4:live",
        ExecutedVersion: "2",
      },
    });
    expect(await alarm("api-release-5xx")).toMatchObject({
      ...quick,
      namespace: "store-orders-production",
      metricName: "ServerErrors",
      dimensions: { Function: "store-orders-production-api-function-1a2b3c4", Version: "2" },
    });
    expect(await alarm("api-release-5xx")).not.toHaveProperty("alarmActions");
  });
});

describe("without a canary", () => {
  const first = success(update(withoutCanary));

  test("an update moves all traffic to the new version, and no alarm or output is for a release", async () => {
    const outcome = await next(withoutCanary, first);
    expect(aliases.map((name) => operationOn(outcome, ALIAS, name))).toEqual(["update", "update"]);
    expect(versions(outcome)).toEqual(["2", "2"]);
    expect(outcome.stackOutputs).not.toHaveProperty("release");
    expect(outcome.registrations.filter(({ name }) => name.includes("-release-"))).toEqual([]);
  });
});

test("a stack whose canary is turned off gives all traffic to the newest version", async () => {
  const outcome = await next(withoutCanary, success(update(production)));
  expect(versions(outcome)).toEqual(["2", "2"]);
});
