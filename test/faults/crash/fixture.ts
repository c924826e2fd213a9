import { createAccounts } from "../../../lib/accounts/accounts.ts";
import type { StoredOrder } from "../../../lib/orders/lifecycle.ts";
import type { PlanAssignment } from "../../../lib/plans/plan-limits.ts";
import { openStore, type StoreAddress } from "../../support/store-address.ts";

export function idsFrom(first: bigint, length: number): readonly bigint[] {
  return Array.from({ length }, (_, index) => first + BigInt(index));
}

export function pendingOrder(id: bigint): StoredOrder {
  return { record: { id, petId: 7n * id }, status: "pending" };
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
