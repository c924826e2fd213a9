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
 * need more, such as a way to interrupt the database (see `ContractOptions`), or else resolve with why they are skipped.
 *
 * @module store-orders/contract
 */
import assert from "node:assert/strict";
import { sumByStatus } from "../../orders/lifecycle.ts";
import { accountCases, importedKeyCases } from "./account-cases.ts";
import { admissionCases } from "./admission-cases.ts";
import { type ContractCase, collect, defineCases, findOrder } from "./contract-case.ts";
import { damageCases } from "./damage-cases.ts";
import { historyCases } from "./history-cases.ts";
import { instanceCases } from "./instance-cases.ts";
import { operationCases } from "./operation-cases.ts";
import { orderCases } from "./order-cases.ts";
import { outageCases } from "./outage-cases.ts";
import { outboxCases } from "./outbox-cases.ts";
import { pageCases } from "./page-cases.ts";

export type { AccountStore } from "../../accounts/account-store.ts";
export type { OrderStore, Outbox } from "../../orders/order-store.ts";
export type { Store } from "../store.ts";
export type { ContractCase, ContractOptions } from "./contract-case.ts";

const storeCases = defineCases({ of: "store" }, (test) => {
  test("what was passed to a store or returned by it can be changed, which changes nothing that is stored", async (store) => {
    const { orders, accounts } = store;
    const hash = "1".repeat(64);
    const placed = { record: { id: 1n, petId: 2n }, status: "pending" } as const;
    const created = { id: "acme", plan: "free", keys: [{ id: "acme.1", hash, createdAt: 0 }] };
    await orders.place([placed], 0);
    await accounts.create(created);
    const admission = await accounts.admit({ accountId: "acme", hash }, 0);
    assert.equal(admission.ok, true);
    const [found, account] = [await orders.find(1n), await accounts.find("acme")];
    const stored = structuredClone([found, account]);
    const fulfilled = await orders.apply(1n, "fulfil", 0);
    const updated = await accounts.update("acme", (known) => {
      spoil(known);
      return { ok: false, code: "account_exists" };
    });
    const renamed = await accounts.update("acme", () => ({ ok: true, account: created }));
    const page = await orders.page({ limit: 1 });
    const listed = await collect(accounts.list());
    spoil([placed, created, found, account, fulfilled, updated, renamed, page, listed, admission]);
    assert.deepEqual([await orders.find(1n), await accounts.find("acme")], stored);
    const shipped = await orders.apply(1n, "ship", 0);
    spoil(shipped);
    assert.equal((await findOrder(orders, 1n))?.status, "shipped");
  });

  test("a store that can serve requests passes its check, which changes nothing", async (store) => {
    const { check, orders, accounts } = store;
    await check();
    assert.deepEqual(await orders.countByStatus(), sumByStatus([]));
    assert.deepEqual(await collect(accounts.list()), []);
    const order = { record: { id: 1n }, status: "pending" } as const;
    await orders.place([order]);
    await Promise.all([check(), check(), orders.apply(1n, "cancel", 0), check()]);
    assert.deepEqual(await findOrder(orders, 1n), { ...order, status: "cancelled" });
  });
});

/** Changes whatever a value has, as far as it lets itself be changed. */
function spoil(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  for (const [name, inner] of Object.entries(value)) {
    spoil(inner);
    Reflect.set(value, name, typeof inner === "object" ? inner : "spoilt");
  }
  if (Array.isArray(value)) value.splice(0);
}

/** Every guarantee of `Store`, `OrderStore` and `AccountStore`. */
export const storeContract: readonly ContractCase[] = [
  ...orderCases,
  ...pageCases,
  ...accountCases,
  ...admissionCases,
  ...operationCases,
  ...instanceCases,
  ...importedKeyCases,
  ...historyCases,
  ...outboxCases,
  ...damageCases,
  ...outageCases,
  ...storeCases,
];
