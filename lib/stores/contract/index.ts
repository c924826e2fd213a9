/**
 * The guarantees of a store, as cases for any test runner and any engine:
 *
 * ```ts
 * for (const { name, check } of storeContract) {
 *   test(name, async () => check(await openEmptyStore(), { openAnother }));
 * }
 * ```
 *
 * Each case needs an empty store of its own, and rejects with an `AssertionError` if the guarantee does not hold. Some
 * need more, such as further instances of the same store (see `ContractOptions`). Without it, they are skipped and
 * resolve with the reason.
 *
 * @module store-orders/contract
 */
import assert from "node:assert/strict";
import { accountCases } from "./account-cases.ts";
import { admissionCases } from "./admission-cases.ts";
import { banCases } from "./ban-cases.ts";
import { bounded, type ContractCase, collect, findOrder, type UnboundedCase } from "./contract-case.ts";
import { historyCases } from "./history-cases.ts";
import { instanceCases } from "./instance-cases.ts";
import { operationCases } from "./operation-cases.ts";
import { orderCases } from "./order-cases.ts";
import { outageCases } from "./outage-cases.ts";
import { outboxCases } from "./outbox-cases.ts";
import { pageCases } from "./page-cases.ts";
import { planCases } from "./plan-cases.ts";

export type { Store } from "../store.ts";
export type { ContractCase, ContractOptions } from "./contract-case.ts";

const cases: readonly UnboundedCase[] = [
  ...orderCases,
  ...pageCases,
  ...accountCases,
  ...admissionCases,
  ...banCases,
  ...planCases,
  ...operationCases,
  ...instanceCases,
  ...historyCases,
  ...outboxCases,
  ...outageCases,
  {
    name: "a store that can serve requests passes its check, which changes nothing",
    async check({ check, orders, accounts }) {
      await check();
      assert.deepEqual(await orders.countByStatus(), { pending: 0, shipped: 0, cancelled: 0 });
      assert.deepEqual(await collect(accounts.list()), []);
      const order = { record: { id: 1n }, status: "pending" } as const;
      await orders.place([order]);
      await Promise.all([check(), check(), orders.apply(1n, "cancel", 0), check()]);
      assert.deepEqual(await findOrder(orders, 1n), { ...order, status: "cancelled" });
    },
  },
];

/** Every guarantee of `Store`, `OrderStore` and `AccountStore`. */
export const storeContract: readonly ContractCase[] = cases.map(bounded);
