import { createAccounts } from "../accounts/accounts.ts";
import type { Environment } from "../accounts/api-key.ts";
import type { Clock, Instant } from "../clock.ts";
import type { StoredOrder } from "../orders/lifecycle.ts";
import { DAY_MS } from "../plans/windows.ts";
import type { Store } from "../stores/store.ts";
import { requireEnvironment } from "./store-environment.ts";

/** The account of the demo data. */
export const DEMO_ACCOUNT = "demo";

/**
 * Fills an empty store with an account on the plan `free`, a key, and orders in every state. Returns the key, or
 * `undefined` if the store was not empty and nothing was changed.
 */
export async function seedDemo(
  store: Store,
  environment: Environment,
  clock: Clock,
): Promise<string | undefined> {
  if (!(await isEmpty(store))) return undefined;
  await requireEnvironment(store, environment);
  const accounts = createAccounts({ store: store.accounts, environment, clock });
  // If several processes start at once, the one that creates the account adds the rest.
  const created = await accounts.create(DEMO_ACCOUNT, { plan: "free" });
  if (!created.ok) return undefined;
  await store.orders.place(demoOrders(clock()));
  const issued = await accounts.issueKey(DEMO_ACCOUNT);
  return issued.ok ? issued.key : undefined;
}

async function isEmpty(store: Store): Promise<boolean> {
  for await (const _account of store.accounts.list()) return false;
  for await (const _orders of store.orders.scan()) return false;
  return true;
}

function demoOrders(now: Instant): readonly StoredOrder[] {
  const day = (offset: number) => new Date(now + offset * DAY_MS).toISOString();
  return [
    { record: { id: 1001n, petId: 7n, quantity: 1, shipDate: day(3), complete: false }, status: "pending" },
    { record: { id: 1002n, petId: 12n, quantity: 2, shipDate: day(5), complete: false }, status: "pending" },
    { record: { id: 1003n, petId: 7n, quantity: 1, shipDate: day(-1), complete: false }, status: "shipped" },
    { record: { id: 1004n, petId: 31n, quantity: 4, shipDate: day(-9), complete: true }, status: "shipped" },
    { record: { id: 1005n, petId: 12n, quantity: 1 }, status: "cancelled" },
  ];
}
