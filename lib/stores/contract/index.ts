/**
 * The promises of a store, as cases that any test runner can run against any engine:
 *
 * ```ts
 * for (const { promise, check } of storeContract) test(promise, async () => check(await openEmptyStore()));
 * ```
 *
 * Each case wants a store of its own with nothing in it, and rejects with an `AssertionError` where a promise is broken.
 *
 * @module store-orders/contract
 */
import { accountCases } from "./account-cases.ts";
import { admissionCases } from "./admission-cases.ts";
import { banCases } from "./ban-cases.ts";
import type { ContractCase } from "./contract-case.ts";
import { orderCases } from "./order-cases.ts";

export type { Store } from "../store.ts";
export type { ContractCase } from "./contract-case.ts";

/** Every promise of `OrderStore` and `AccountStore`. */
export const storeContract: readonly ContractCase[] = [
  ...orderCases,
  ...accountCases,
  ...admissionCases,
  ...banCases,
];
