import { inspect } from "node:util";
import type { Store } from "../../../lib/stores/store.ts";
import { type AccountAnswer, type AccountCall, accountModel } from "./account-model.ts";
import { type Call, type History, make } from "./calls.ts";
import { checkLinearizable, type Verdict } from "./checker.ts";
import type { Model, Operation } from "./history.ts";
import { type OrderAnswer, type OrderCall, orderModel } from "./order-model.ts";
import type { Scenario } from "./plans.ts";
import type { Processes } from "./processes.ts";

/** What a scenario came to. */
export interface CheckResult {
  /** Why its history is not linearizable, object by object; nothing, if it is. */
  readonly objections: readonly string[];
  readonly operations: number;
  readonly withoutAnswer: number;
}

/** Has a scenario carried out on a store, looks at what it left, and checks the whole against the rules. */
export async function runAndCheck(
  scenario: Scenario,
  store: Store,
  processes: Processes,
): Promise<CheckResult> {
  const { account, orders, plan, kill } = scenario;
  await store.accounts.create(account);
  await store.orders.place(orders);
  const recorded = await processes.record(plan, kill);
  const looks: readonly Call[] = [
    { account: account.id, does: "find" },
    ...orders.map(({ record }) => ({ order: record.id, does: "find" }) as const),
  ];
  const history = [...recorded, ...(await Promise.all(looks.map((call) => timed(store, call))))];
  return {
    objections: [
      objection(accountModel, account, ofAccount(history, account.id)),
      ...orders.map((order) => objection(orderModel, order, ofOrder(history, order.record.id))),
    ].filter((text) => text !== undefined),
    operations: history.length,
    withoutAnswer: history.filter(({ answered }) => answered === undefined).length,
  };
}

async function timed(store: Store, call: Call) {
  const invoked = process.hrtime.bigint();
  const answer = await make(store, call);
  return { call, invoked, answered: { at: process.hrtime.bigint(), answer } };
}

// Objects are independent of each other, so each history is searched for itself.
function ofAccount(history: History, id: string) {
  return history.filter(
    (operation): operation is Operation<AccountCall, AccountAnswer> =>
      "account" in operation.call && operation.call.account === id,
  );
}

function ofOrder(history: History, id: bigint) {
  return history.filter(
    (operation): operation is Operation<OrderCall, OrderAnswer> =>
      "order" in operation.call && operation.call.order === id,
  );
}

function objection<State, Call, Reply>(
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
    ...longest.map(({ call, answered }) => `${text(call)} -> ${text(answered?.answer)}`),
    `then, from ${text(state)}, none of:`,
    ...stuck.map(({ operation: { call, answered }, expected }) => {
      return `${text(call)} -> ${text(answered?.answer)}, where the rules say ${text(expected)}`;
    }),
  ].join("\n");
}
