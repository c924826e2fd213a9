import { inspect } from "node:util";
import type { Store } from "../../../lib/stores/store.ts";
import { type AccountCall, type AccountCallResult, accountModel } from "./account-model.ts";
import { type Call, type History, performCall } from "./calls.ts";
import { checkLinearizable, type Model, type Operation, type Verdict } from "./checker.ts";
import { type OrderCall, type OrderCallResult, orderModel } from "./order-model.ts";
import type { Processes } from "./processes.ts";
import type { Scenario } from "./scenarios.ts";

const PLACED_AT = 0;

/** Runs a scenario on a store, reads the final state, and checks the whole history against the rules. */
export async function runAndCheck(scenario: Scenario, store: Store, processes: Processes) {
  const { account, orders, plan, kill } = scenario;
  await store.accounts.create(account);
  await store.orders.place(orders, PLACED_AT);
  const recorded = await processes.record(plan, kill);
  const finalReads: readonly Call[] = [
    { account: account.id, kind: "find" },
    ...orders.map(({ record }) => ({ order: record.id, kind: "find" }) as const),
  ];
  const history = [...recorded, ...(await Promise.all(finalReads.map((call) => timed(store, call))))];
  return {
    /** Why the history is not linearizable, one text per object. Empty if it is. */
    violations: [
      findViolation(accountModel, account, ofAccount(history, account.id)),
      ...orders.map((order) => {
        const placed = { ...order, history: [{ event: "place", at: PLACED_AT }] } as const;
        return findViolation(orderModel, placed, ofOrder(history, order.record.id));
      }),
    ].filter((text) => text !== undefined),
    operations: history.length,
    incomplete: history.filter(({ completed }) => completed === undefined).length,
  };
}

async function timed(store: Store, call: Call) {
  const invoked = process.hrtime.bigint();
  const result = await performCall(store, call);
  return { call, invoked, completed: { at: process.hrtime.bigint(), result } };
}

// Objects are independent of each other, so the history of each is checked separately.
function ofAccount(history: History, id: string) {
  return history.filter(
    (operation): operation is Operation<AccountCall, AccountCallResult> =>
      "account" in operation.call && operation.call.account === id,
  );
}

function ofOrder(history: History, id: bigint) {
  return history.filter(
    (operation): operation is Operation<OrderCall, OrderCallResult> =>
      "order" in operation.call && operation.call.order === id,
  );
}

function findViolation<State, Call, Reply>(
  model: Model<State, Call, Reply>,
  initial: State,
  history: readonly Operation<Call, Reply>[],
): string | undefined {
  const verdict = checkLinearizable(model, initial, history);
  return verdict.linearizable ? undefined : explain(verdict);
}

function explain<State, Call, Reply>({
  longest,
  state,
  stuck,
}: Extract<Verdict<State, Call, Reply>, { linearizable: false }>): string {
  const text = (value: unknown) => inspect(value, { depth: 6, breakLength: 160 });
  return [
    ...longest.map(({ call, completed }) => `${text(call)} -> ${text(completed?.result)}`),
    `then, in state ${text(state)}, none of:`,
    ...stuck.map(({ operation: { call, completed }, expected }) => {
      return `${text(call)} -> ${text(completed?.result)}, expected ${text(expected)}`;
    }),
  ].join("\n");
}
