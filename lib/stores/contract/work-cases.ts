import assert from "node:assert/strict";
import { type Caller, DEFAULT_BAN_POLICY } from "../../accounts/admission.ts";
import type { ApplyResult } from "../../orders/order-store.ts";
import type { Store } from "../store.ts";
import { type ContractCase, collect } from "./contract-case.ts";
import { AT, createAccountFixture, FIRST, outcomeName, SECOND } from "./fixture.ts";

const ORDER = { record: { id: 7n, petId: 1n, quantity: 2 }, status: "pending" } as const;
const KEY = { accountId: "acme", hash: FIRST.hash };

/** Admits a request that cancels the order, as the HTTP service does: in one transaction if the store has them. */
async function admitAndCancel({ accounts, orders }: Store, at = AT, key = KEY) {
  let starts = 0;
  let applied: Promise<ApplyResult<"cancel">> | undefined;
  let startedFor: Caller | undefined;
  const start = (caller: Caller) => {
    starts++;
    startedFor = caller;
    applied = orders.apply(ORDER.record.id, "cancel", at);
  };
  const admission = await accounts.admit(key, at, DEFAULT_BAN_POLICY, { durable: true, start });
  const startsInAdmission = starts;
  if (admission.ok && applied === undefined) start(admission.caller);
  if (admission.ok) assert.deepEqual(startedFor, admission.caller);
  return { admission, startsInAdmission, result: await applied };
}

/** The guarantees of `AccountStore.admit` about the work of a request. */
export const workCases: readonly ContractCase[] = [
  {
    name: "the work of an admitted request is started at most once, and that of a rejected one never",
    async check(store) {
      await createAccountFixture(
        store.accounts,
        { plan: "enterprise", customLimits: { perMinute: 1, perDay: 9 } },
        [FIRST],
      );
      await store.orders.place([ORDER]);
      const unknown = await admitAndCancel(store, AT, { ...KEY, hash: SECOND.hash });
      assert.deepEqual([outcomeName(unknown.admission), unknown.startsInAdmission], ["unknown_key", 0]);
      const first = await admitAndCancel(store);
      assert.equal(outcomeName(first.admission), "admitted");
      assert.ok(first.startsInAdmission <= 1);
      const second = await admitAndCancel(store);
      assert.deepEqual([outcomeName(second.admission), second.startsInAdmission], ["rate_limit_exceeded", 0]);
    },
  },
  {
    name: "a cancel in the work of an admission changes the status only, and the request is counted once",
    async check(store) {
      const { accounts, orders } = store;
      await createAccountFixture(accounts);
      await orders.place([ORDER]);
      const [list] = await collect(orders.list());
      const { result } = await admitAndCancel(store);
      assert.deepEqual(result, { ok: true, order: { ...ORDER, status: "cancelled" } });
      assert.deepEqual(await orders.find(7n), { ...ORDER, status: "cancelled" });
      assert.deepEqual(await collect(orders.list()), [list]);
      assert.equal((await accounts.find("acme"))?.usage.minute.count, 1);
    },
  },
  {
    name: "of concurrent requests that cancel one order, one succeeds and all are counted",
    async check(store) {
      await createAccountFixture(store.accounts);
      await store.orders.place([ORDER]);
      const all = await Promise.all(Array.from({ length: 20 }, () => admitAndCancel(store)));
      const codes = all.map(({ result }) => (result?.ok === false ? result.code : "cancelled")).sort();
      assert.deepEqual(codes, ["cancelled", ...Array(19).fill("order_already_cancelled")].sort());
      assert.equal((await store.accounts.find("acme"))?.usage.day.count, 20);
    },
  },
  {
    name: "a list that the work of an admission starts is complete",
    async check({ accounts, orders }) {
      await createAccountFixture(accounts);
      const ids = Array.from({ length: 1_203 }, (_, index) => BigInt(index));
      await orders.place(ids.map((id) => ({ record: { id }, status: "pending" }) as const));
      let pages: Promise<readonly { readonly json: string }[]> | undefined;
      const start = () => {
        pages = collect(orders.list());
      };
      await accounts.admit(KEY, AT, DEFAULT_BAN_POLICY, { durable: false, start });
      if (pages === undefined) start();
      const json = (await pages)?.map((page) => page.json).join(",");
      assert.equal(json, ids.map((id) => `{"id":${id}}`).join(","));
    },
  },
];
