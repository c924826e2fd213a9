import type { Account, ApiKey } from "../../../lib/accounts/account.ts";
import type { OrderEvent, StoredOrder } from "../../../lib/orders/lifecycle.ts";
import { DAY_MS, MINUTE_MS, NO_USAGE } from "../../../lib/plans/windows.ts";
import type { Choices } from "../run.ts";
import type { AccountCall } from "./account-model.ts";
import type { Call } from "./calls.ts";
import type { Loss } from "./lossy-store.ts";
import type { Kill, Plan } from "./processes.ts";
import type { Planned } from "./worker-process.ts";

export const PROCESSES = 3;
const LANES = 3;
const CALLS = 4;
const ORDERS = 3;
const EVENTS: readonly OrderEvent[] = ["cancel", "ship", "fulfil"];
/** What is sent again counts an admitted request once more, as the store says: the last of these is for orders. */
const LOSSES: readonly Loss[] = ["request", "answer", "answer, sent again"];

/** The first instant of a minute and of a day. */
const AT = Date.UTC(2026, 10, 20);
/** Most calls fall in one minute; clocks differ, so that windows roll under the feet of calls that are late. */
const INSTANTS = [0, 0, 0, 0, 0, 0, 20_000, 59_999, MINUTE_MS, MINUTE_MS + 5_000, 2 * MINUTE_MS, DAY_MS].map(
  (later) => AT + later,
);

/** One account and few orders, and what several processes do with them. */
export interface Scenario {
  readonly account: Account;
  readonly orders: readonly StoredOrder[];
  readonly plan: Plan;
  readonly kill?: Kill;
}

/** Chooses the scenario of a number: its objects are its own. */
export function chooseScenario(number: number, random: Choices, { losses }: { losses: number }): Scenario {
  const id = `account-${number}`;
  const key = (name: string): ApiKey => ({ id: `${id}.${name}`, hash: `${id} ${name}`, createdAt: AT });
  const limits = () => ({ perMinute: random.int(1, 6), perDay: random.int(3, 9) });
  const enterprise = () => ({ plan: "enterprise" as const, customLimits: limits() });
  const [first, second, third] = [key("first"), key("second"), key("third")];
  const orders = Array.from({ length: ORDERS }, (_, index): StoredOrder => {
    return { record: { id: BigInt(number * ORDERS + index), petId: 1n, quantity: 2 }, status: "pending" };
  });

  let issued = false;
  function ofAccount(): AccountCall {
    const at = random.pick(INSTANTS);
    const chosen = random.int(1, 100);
    const account = id;
    if (chosen <= 62) {
      const { hash } = random.pick([first, first, second, third]);
      return random.chance(0.9)
        ? { account, does: "admit", hash, at }
        : { account, does: "recordRejections", hash, at, count: random.int(1, 2) };
    }
    if (chosen <= 72) return { account, does: "find" };
    if (chosen <= 82)
      return { account, does: "setPlan", plan: random.chance(0.8) ? enterprise() : { plan: "free" } };
    if (chosen <= 90) return { account, does: "revoke", keyId: random.pick([first, second, third]).id, at };
    if (chosen <= 95 || issued) return { account, does: "unban", keyId: first.id };
    issued = true;
    return { account, does: "issue", key: third, at };
  }

  function ofOrder(): Call {
    const order = random.pick(orders).record.id;
    if (random.chance(0.2)) return { order, does: "find" };
    return { order, does: random.pick(EVENTS), at: random.pick(INSTANTS) };
  }

  function planned(): Planned {
    const call = random.chance(0.55) ? ofAccount() : ofOrder();
    if (!random.chance(losses)) return { call };
    return { call, loss: random.pick("order" in call ? LOSSES : LOSSES.slice(0, 2)) };
  }

  const times = <T>(length: number, make: () => T) => Array.from({ length }, make);
  const plan = times(PROCESSES, () => times(LANES, () => times(CALLS, planned)));
  const kill = { process: random.int(0, PROCESSES - 1), afterReports: random.int(1, LANES * CALLS) };
  return {
    account: { id, ...enterprise(), keys: [first, second], usage: NO_USAGE, rejections: {} },
    orders,
    plan,
    ...(random.chance(0.2) ? { kill } : {}),
  };
}
