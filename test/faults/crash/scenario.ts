import { createAccounts } from "../../../lib/accounts/accounts.ts";
import type { StoredOrder } from "../../../lib/orders/lifecycle.ts";
import type { PlanAssignment } from "../../../lib/plans/plan-limits.ts";
import { createSqliteStore } from "../../../lib/stores/sqlite/index.ts";
import { instantOf, type Ledger } from "./ledger.ts";

/** As many identifiers from one on. */
export function idsFrom(first: bigint, length: number): readonly bigint[] {
  return Array.from({ length }, (_, index) => first + BigInt(index));
}

/** An order that waits to be cancelled or shipped. */
export function pendingOrder(id: bigint): StoredOrder {
  return { record: { id, petId: 7n * id }, status: "pending" };
}

/** An order in one of the states that an import may bring. */
export function importedOrder(id: bigint): StoredOrder {
  const record = { id, petId: -id, quantity: Number(id % 10n) };
  if (id % 3n !== 0n) return { record, status: id % 3n === 1n ? "cancelled" : "pending" };
  const shipDate = new Date(instantOf(id)).toISOString();
  return { record: { ...record, shipDate, complete: id % 2n === 0n }, status: "shipped" };
}

/** Places orders before anything is killed. */
export async function placeOrders(
  path: string,
  orders: readonly StoredOrder[],
  ledger: Ledger,
): Promise<void> {
  const store = createSqliteStore({ path });
  for (const order of orders) ledger.handedOver(order);
  await store.orders.place(orders);
  for (const { record } of orders) ledger.placed(record.id);
  await store.close();
}

/** Opens an account with limits of its own, and gives its one key. */
export async function openAccount(path: string, id: string, perMinute: number): Promise<string> {
  const store = createSqliteStore({ path });
  const plan: PlanAssignment = { plan: "enterprise", customLimits: { perMinute, perDay: 10_000_000 } };
  const accounts = createAccounts({ store: store.accounts, environment: "test" });
  await accounts.create(id, plan);
  const issued = await accounts.issueKey(id);
  await store.close();
  if (!issued.ok) throw new Error(issued.code);
  return issued.key;
}
