import { createAccounts } from "../../../lib/accounts/accounts.ts";
import type { StoredOrder } from "../../../lib/orders/lifecycle.ts";
import type { PlanAssignment } from "../../../lib/plans/plan-limits.ts";
import { openStore, type StoreAddress } from "../../support/store-address.ts";
import { instantOf, type Ledger } from "./ledger.ts";

/** Consecutive identifiers. */
export function idsFrom(first: bigint, length: number): readonly bigint[] {
  return Array.from({ length }, (_, index) => first + BigInt(index));
}

/** A pending order. */
export function pendingOrder(id: bigint): StoredOrder {
  return { record: { id, petId: 7n * id }, status: "pending" };
}

/** An order to import, in one of the three states. */
export function importedOrder(id: bigint): StoredOrder {
  const record = { id, petId: -id, quantity: Number(id % 10n) };
  if (id % 3n !== 0n) return { record, status: id % 3n === 1n ? "cancelled" : "pending" };
  const shipDate = new Date(instantOf(id)).toISOString();
  return { record: { ...record, shipDate, complete: id % 2n === 0n }, status: "shipped" };
}

/** Places orders before anything is killed. */
export async function placeOrders(
  address: StoreAddress,
  orders: readonly StoredOrder[],
  ledger: Ledger,
): Promise<void> {
  const store = await openStore(address);
  for (const order of orders) ledger.submitted(order);
  await store.orders.place(orders);
  for (const { record } of orders) ledger.placed(record.id);
  await store.close();
}

/** Creates an account with its own limits, and returns its key. */
export async function openAccount(address: StoreAddress, id: string, perMinute: number): Promise<string> {
  const store = await openStore(address);
  const plan: PlanAssignment = { plan: "enterprise", customLimits: { perMinute, perDay: 10_000_000 } };
  const accounts = createAccounts({ store: store.accounts, environment: "test" });
  await accounts.create(id, plan);
  const issued = await accounts.issueKey(id);
  await store.close();
  if (!issued.ok) throw new Error(issued.code);
  return issued.key;
}
