import type { Account, ApiKey } from "../../../lib/accounts/account.ts";
import { LIFECYCLE, type StoredOrder } from "../../../lib/orders/lifecycle.ts";
import { DAY_MS, MINUTE_MS, NO_USAGE } from "../../../lib/plans/windows.ts";
import type { SeededRandom } from "../run.ts";
import type { AccountCall } from "./account-model.ts";
import type { Call } from "./calls.ts";
import type { Loss } from "./lossy-store.ts";
import type { Kill, Plan } from "./processes.ts";
import type { Planned } from "./worker-process.ts";

export const PROCESSES = 3;
const LANES = 3;
const CALLS = 4;
const ORDERS = 3;
/** A retried admission is counted twice, as documented, so the last of these is for orders only. */
const LOSSES: readonly Loss[] = ["request", "response", "response, then retried"];

/** The first instant of a minute and of a day. */
const AT = Date.UTC(2026, 10, 20);
/** Most calls are in one minute, and some after its grace for bans. Clocks differ, so that some calls arrive after their window has ended. */
const INSTANTS = [
  ...[0, 0, 0, 0, 20_000, 20_000, 20_000, 40_000, 59_999],
  ...[MINUTE_MS, MINUTE_MS + 5_000, 2 * MINUTE_MS, DAY_MS],
].map((offset) => AT + offset);

/** One account, a few orders, and the calls of several processes on them. */
export interface Scenario {
  readonly account: Account;
  readonly orders: readonly StoredOrder[];
  readonly plan: Plan;
  readonly kill?: Kill;
}

/** Chooses a scenario. Its number makes the identifiers unique. */
export function chooseScenario(
  number: number,
  random: SeededRandom,
  { losses }: { losses: number },
): Scenario {
  const id = `account-${number}`;
  const key = (name: string): ApiKey => ({ id: `${id}.${name}`, hash: `${id} ${name}`, createdAt: AT });
  const limits = () => ({ perMinute: random.int(1, 4), perDay: random.int(3, 9) });
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
      const { hash } = random.pick([first, first, first, second, third]);
      return random.chance(0.9)
        ? { account, kind: "admit", hash, at }
        : { account, kind: "recordRejections", hash, at, count: random.int(1, 2) };
    }
    if (chosen <= 72) return { account, kind: "find" };
    if (chosen <= 82)
      return { account, kind: "setPlan", plan: random.chance(0.8) ? enterprise() : { plan: "free" } };
    if (chosen <= 90) return { account, kind: "revoke", keyId: random.pick([first, second, third]).id, at };
    if (chosen <= 95 || issued) return { account, kind: "unban", keyId: first.id };
    issued = true;
    return { account, kind: "issue", key: third, at };
  }

  function ofOrder(): Call {
    const order = random.pick(orders).record.id;
    if (random.chance(0.2)) return { order, kind: "find" };
    return { order, kind: random.pick(LIFECYCLE.events), at: random.pick(INSTANTS) };
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
