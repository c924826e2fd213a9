/**
 * The guarantees of a store, as cases for any test runner and any engine:
 *
 * ```ts
 * for (const { name, check } of storeContract) test(name, async () => check(await createEmptyStore()));
 * ```
 *
 * Each case needs an empty store of its own, and rejects with an `AssertionError` if the guarantee does not hold.
 *
 * @module store-orders/contract
 */
import { accountCases } from "./account-cases.ts";
import { admissionCases } from "./admission-cases.ts";
import { banCases } from "./ban-cases.ts";
import type { ContractCase } from "./contract-case.ts";
import { orderCases } from "./order-cases.ts";
import { planCases } from "./plan-cases.ts";
import { scanCases } from "./scan-cases.ts";
import { workCases } from "./work-cases.ts";

export type { Store } from "../store.ts";
export type { ContractCase } from "./contract-case.ts";

/** Every guarantee of `OrderStore` and `AccountStore`. */
export const storeContract: readonly ContractCase[] = [
  ...orderCases,
  ...scanCases,
  ...accountCases,
  ...admissionCases,
  ...banCases,
  ...planCases,
  ...workCases,
];
