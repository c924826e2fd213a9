import { describe, expect, test } from "vitest";
import { cloud } from "./harness/cloud.ts";
import type { Cloud, Operation, State, StateEntry } from "./harness/deployment.ts";
import type { Recording } from "./harness/engine.ts";
import { find, type Outcome, ofType, operationOn, type RunOptions, run } from "./harness/program.ts";
import { foreignRecord, production, success } from "./harness/scenario.ts";
import { earlierState, importTable, renameStack } from "./harness/states.ts";

const TABLE = "aws:dynamodb/table:Table";
const guest = (settings: object, options: object, more: Partial<RunOptions> & { name?: string } = {}) => {
  const { name = "orders", ...others } = more;
  const config = { "guest:name": name, "guest:settings": settings, "guest:options": options };
  const program = "test/infra/programs/guest.ts";
  return run({ program, stack: "staging", config, cloud: cloud(), ...others });
};
const withEvents = {
  ...production,
  "store-orders:events": { bus: "default" },
  "store-orders:waf": { requestsPerFiveMinutes: 3_000 },
  "store-orders:alarmEmail": "ops@example.com",
};
const program = (state: State, config: object = {}, more: Partial<RunOptions> = {}) =>
  run({ stack: "production", config: { ...withEvents, ...config }, state, cloud: cloud(), ...more });

const services = (names: readonly string[], state: State, world: Cloud = cloud()) =>
  run({
    ...{ program: "test/infra/programs/components.ts", stack: "production", cloud: world, state },
    config: { "components:services": names.map((name) => ({ name })) },
  });

const typesWith = ({ operations }: Pick<Recording, "operations">, ...wanted: readonly Operation[]) => {
  const found = [...operations].filter(([, operation]) => wanted.includes(operation));
  return [...new Set(found.map(([urn]) => urn.split("::")[2]?.split("$").at(-1)))].sort();
};
const changes = (outcome: Outcome) => typesWith(outcome, "create", "replace", "delete", "import-replacement");
/** The types with changes among those that the recorded states have: what holds data, serves, or is known to others. */
const RECORDED = new Set([...earlierState("program").values()].map(({ registration: { type } }) => type));
const changesOfRecorded = (outcome: Outcome) => changes(outcome).filter((type) => RECORDED.has(`${type}`));
const variablesOf = (outcome: Outcome, name: string) =>
  (find(outcome, name).inputs["environment"] as { readonly variables: object }).variables;
const tables = (outcome: Outcome, prefix: string) =>
  ["orders", "accounts"].map((table) => operationOn(outcome, TABLE, `${prefix}-tables-${table}`));
const NAMED_BY_US = ["aws:cloudwatch/dashboard:Dashboard", "aws:cloudwatch/metricAlarm:MetricAlarm"];
const OLD_NAMES = { orders: "orders-orders", accounts: "orders-accounts" };
const REFUSAL = (table: string) => `The protected table ${table} would be deleted with its data, or replaced`;

/** The first update of a live stack of an earlier version, and that of a program of somebody else. */
const live = success(program(earlierState("program")));
const liveGuest = success(guest({}, {}, { state: earlierState("guest") }));

describe("a live stack of an earlier version", () => {
  test("is updated, and nothing that holds data or serves is replaced", async () => {
    const outcome = await live;
    expect(tables(outcome, "store-orders-production")).toEqual(["same", "same"]);
    // The target of the schedule gets a fixed identifier.
    expect(changesOfRecorded(outcome)).toEqual(["aws:cloudwatch/eventTarget:EventTarget"]);
    expect(find(outcome, "store-orders-production-tables-orders")).toMatchObject({
      protect: true,
      beforeDelete: [expect.stringContaining("see infra/recovery.md#rename-import-restore")],
    });
  });

  test("of somebody else's program gets protection, and its metrics a namespace that contains the stack", async () => {
    const outcome = await liveGuest;
    expect(tables(outcome, "orders")).toEqual(["update", "update"]);
    expect(changesOfRecorded(outcome)).toEqual([]);
    expect(find(outcome, "orders-tables-accounts")).toMatchObject({
      protect: true,
      inputs: { name: "orders-accounts", deletionProtectionEnabled: true },
    });
    expect(find(outcome, "orders-5xx").inputs["name"]).toBe("orders-store-orders-staging-eu-central-1-5xx");
    expect(variablesOf(outcome, "orders-api-function")).toMatchObject({
      STORE_ORDERS_DYNAMODB: "orders",
      STORE_ORDERS_NAMESPACE: "orders-store-orders-staging",
    });
  });
});

describe("a live stack that is renamed", () => {
  const comment = "store-orders/production, kept by Pulumi";
  const ownRecord = { ...foreignRecord, type: "CNAME", content: "d-1.execute-api.example", comment };
  const renamed = (config: object) =>
    live.then(({ state }) =>
      program(renameStack(state, "production", "prod"), config, {
        ...{ stack: "prod", preview: true, cloud: cloud({ records: [ownRecord] }) },
      }),
    );

  test("is refused by its preview, which says what to set", async () => {
    const outcome = await renamed({ "store-orders:domains": undefined, "store-orders:plan": "pro" });
    expect(outcome.code).toBe(1);
    expect(outcome.errors).toMatch(/The protected tables? store-orders-production-(orders|accounts)/);
    expect(outcome.errors).toContain("After a rename of the stack or project, set 'renamedFrom'");
  });

  test("is refused by a first update without a preview, before anything is created or deleted", async () => {
    const state = renameStack(earlierState("program"), "production", "prod");
    const outcome = await program(state, {}, { stack: "prod" });
    expect(outcome.code).not.toBe(0);
    expect(outcome.errors).toMatch(
      /The stack has the protected tables (store-orders-production-\w+( and )?){2}, but/,
    );
    expect(outcome.errors).toContain("After a rename of the stack or project, set 'renamedFrom'");
    expect([...outcome.operations]).toEqual([]);
    expect([...state.keys()].filter((urn) => !outcome.state.has(urn))).toEqual([]);
  });

  test("keeps every resource with 'renamedFrom', and owns its DNS records", async () => {
    const outcome = await success(renamed({ "store-orders:renamedFrom": "production" }));
    expect(typesWith(outcome, "create", "replace", "delete")).toEqual([]);
    const { tags } = find(outcome, "store-orders-production-orders-example-com-certificate").inputs;
    expect(tags).toEqual({ "store-orders:stack": "store-orders/production" });
  });
});

describe("a component that is renamed with an alias", () => {
  const rename = (settings: object, options: object = { aliases: [{ name: "orders" }] }) =>
    liveGuest.then(({ state }) => guest(settings, options, { name: "shop", state, preview: true }));

  test("is refused by its preview if the tables would get new names", async () => {
    const outcome = await rename({});
    expect(outcome.code).toBe(1);
    expect(outcome.errors).toMatch(/unable to replace resource ".*::shop-tables-orders"/);
    expect(outcome.errors).toMatch(/The protected tables? orders-(orders|accounts)/);
    expect(outcome.errors).toContain("Set 'tables' to the names that the tables have.");
  });

  test("keeps its tables, functions and API if 'tables' has their names", async () => {
    const outcome = await success(rename({ tables: OLD_NAMES }));
    expect(tables(outcome, "shop")).toEqual(["same", "same"]);
    expect(changes(outcome)).toEqual(NAMED_BY_US);
    expect(variablesOf(outcome, "shop-api-function")).toMatchObject({
      STORE_ORDERS_DYNAMODB: "orders-orders,orders-accounts",
    });
  });

  test("is refused without an alias, even if 'tables' has their names", async () => {
    const outcome = await rename({ tables: OLD_NAMES }, {});
    expect(outcome.code).toBe(1);
    expect(outcome.errors).toMatch(/The protected tables? orders-(orders|accounts)/);
  });
});

describe("a restored table", () => {
  const NAME = "store-orders-production-tables-orders";
  const restored = { "store-orders:tables": { orders: "restored" } };

  test("does not silently take the place of the live one", async () => {
    const outcome = await live.then(({ state }) => program(state, restored, { preview: true }));
    expect(outcome.code).toBe(1);
    expect(outcome.errors).toContain(REFUSAL("store-orders-production-orders"));
    expect(outcome.errors).toContain("has to be imported first");
  });

  test("is served after its import, with recovery, protection and a stream, and with permissions on it alone", async () => {
    const { state } = await live;
    const outcome = await success(program(importTable(state, NAME, "restored"), restored, {}));
    expect(tables(outcome, "store-orders-production")).toEqual(["update", "same"]);
    expect(find(outcome, NAME).inputs).toMatchObject({
      name: "restored",
      pointInTimeRecovery: { enabled: true },
      deletionProtectionEnabled: true,
      streamEnabled: true,
    });
    // The stream of the restored table is another one.
    expect(changes(outcome)).toEqual(["aws:lambda/eventSourceMapping:EventSourceMapping"]);
    for (const role of ["list", "api", "events"]) {
      const variables = variablesOf(outcome, `store-orders-production-${role}-function`);
      expect(variables).toMatchObject({
        STORE_ORDERS_DYNAMODB: "restored,store-orders-production-accounts",
        STORE_ORDERS_NAMESPACE: "store-orders-production",
      });
      const policy = JSON.stringify(find(outcome, `store-orders-production-${role}-policy`).inputs["policy"]);
      expect(policy).toContain(":table/restored");
      expect(policy).not.toContain("store-orders-production-orders");
    }
  });
});

describe("protection", () => {
  test("is inherited from the component if the setting is off", async () => {
    const outcome = await success(guest({ protect: false }, { protect: true }, { preview: true }));
    const custom = outcome.registrations.filter((each) => each.custom);
    expect(custom.filter((each) => !each.protect).map(({ name }) => name)).toEqual([]);
    expect(find(outcome, "orders-tables-orders").beforeDelete).toEqual([]);
  });

  test("is off only if the setting says so, and then nothing keeps the tables", async () => {
    const outcome = await success(
      guest({ protect: false }, {}, { name: "shop", state: earlierState("guest") }),
    );
    expect(typesWith(outcome, "delete")).toContain(TABLE);
    const kept = ofType(outcome, TABLE).map(({ protect, beforeDelete, inputs }) => [
      protect,
      beforeDelete,
      inputs["deletionProtectionEnabled"],
    ]);
    expect(kept).toEqual(Array(2).fill([false, [], false]));
    expect(find(outcome, "shop-data").beforeDelete).toEqual([]);
  });
});

describe("a service that leaves the program", () => {
  test("keeps everything that serves, in an update without a preview", async () => {
    const { state } = await live;
    const outcome = await services([], state);
    expect(outcome.code).toBe(1);
    expect(outcome.errors).toContain(
      'hook "store-orders: protected tables, see infra/recovery.md#rename-import-restore" was not registered',
    );
    const isKept = ([urn, { registration }]: readonly [string, StateEntry]) =>
      registration.custom && !outcome.state.has(urn);
    expect([...state].filter(isKept)).toEqual([]);
  });

  test("has a guard that is deleted before everything else", async () => {
    const { registrations } = await live;
    const guard = registrations.find(({ type }) => type === "store-orders:infra:DataGuard");
    const others = registrations.filter(({ custom, type }) => custom && !type.startsWith("pulumi:"));
    expect(others.map(({ urn }) => urn).filter((urn) => !guard?.dependencies.includes(urn))).toEqual([]);
  });
});

describe("a further service", () => {
  test("can be added after the one that has the data, not before it: that could be a rename", async () => {
    const { state } = await success(services(["a"], new Map()));
    const { errors, operations } = await services(["b", "a"], state);
    expect(errors).toContain("If this is a further service, create it after the one that has them.");
    expect([...operations]).toEqual([]);
    await success(services(["a", "b"], state));
  });
});

test("the state before a run is read once, and again if the engine was writing it", async () => {
  const writing = { ...cloud(), readErrors: ["failed to load checkpoint: EOF"] };
  const { invokes } = await success(services(["a", "b"], new Map(), writing));
  expect(invokes.filter(({ token }) => token.endsWith("readStackResourceOutputs")).length).toBe(2);
});

describe("two stacks of one account", () => {
  test("the second one with the same name fails at its tables, with both causes, before it overwrites an alarm", async () => {
    const taken =
      "creating Amazon DynamoDB Table (orders-orders): ResourceInUseException: Table already exists";
    const outcome = await guest({}, {}, { cloud: cloud({ failing: { "orders-tables-orders": taken } }) });
    expect(outcome.code).toBe(1);
    expect(outcome.errors).toContain(
      "If another stack of this AWS account and region uses it, give this stack",
    );
    expect(typesWith(outcome, "create")).not.toContain(NAMED_BY_US[1]);
    expect(typesWith(outcome, "create")).not.toContain(NAMED_BY_US[0]);
  });
});
