/**
 * Accounts, API keys and admission: who may make a request. Pure functions decide; `createAccounts` and
 * `withRejectionCache` apply them to a store that is passed in.
 *
 * ```ts
 * import { decideAdmission, generateKey, hashKey } from "store-orders/accounts";
 * import { NO_USAGE } from "store-orders/plans";
 *
 * const key = { id: "acme.1", hash: hashKey(generateKey("test", "acme")), createdAt: 0 };
 * const state = { accountId: "acme", plan: "free", usage: NO_USAGE, key } as const;
 * const { admission } = decideAdmission(state, Date.now());
 * if (admission.ok) console.log(admission.quota.remaining); // 59
 * ```
 *
 * @module store-orders/accounts
 */
export {
  InvalidInputError,
  isInvalidInput,
  isStoreUnavailable,
  StoreUnavailableError,
} from "../core/errors.ts";
export type { OrderStore } from "../orders/order-store.ts";
export type { StoreOperation, StoreOutcome } from "../orders/store-operation.ts";
export type { PlanAssignment, PlanTable } from "../plans/plan-limits.ts";
export type { Quota, Usage } from "../plans/windows.ts";
export {
  type Account,
  type AccountFailure,
  type AccountResult,
  type AccountSettings,
  type ApiKey,
  addKey,
  isActive,
  type RejectionCount,
  revokeKey,
  rotateKey,
} from "./account.ts";
export type { AccountStore } from "./account-store.ts";
export {
  type Accounts,
  type AccountsOptions,
  createAccounts,
  type ImportedKey,
  type IssuedKey,
  type KeyResult,
} from "./accounts.ts";
export {
  type Admission,
  type AdmissionPolicy,
  type Admitted,
  BAN_GRACE_MS,
  type BanPolicy,
  type Caller,
  DEFAULT_BAN_POLICY,
  type Decision,
  decideAdmission,
  decideRejections,
  type InvalidKey,
  type KeyState,
  type Rejection,
} from "./admission.ts";
export { type Environment, generateKey, type ParsedKey, redactKeys } from "./api-key.ts";
export { hashKey } from "./hash-key.ts";
export type { FindAccount, ImportedKeys } from "./imported-keys.ts";
export { withRejectionCache } from "./rejection-cache.ts";
