import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { expect, test } from "vitest";
import { type ApiKey, revokeKey } from "../../../lib/accounts/account.ts";
import type { PlanAssignment } from "../../../lib/plans/plan-limits.ts";
import { MINUTE_MS } from "../../../lib/plans/windows.ts";
import type { Store } from "../../../lib/stores/store.ts";
import { AT, temporaryDirectory } from "./fixture.ts";

const { open } = temporaryDirectory();

const key = (id: string, digit: string, more?: Partial<ApiKey>): ApiKey => ({
  id,
  hash: digit.repeat(64),
  createdAt: AT,
  ...more,
});
const LIMITS = { plan: "enterprise", customLimits: { perMinute: 6, perDay: 15 } } as const;
const ACCOUNTS = [
  {
    id: "acme",
    ...LIMITS,
    keys: [key("acme.1", "1"), key("acme.2", "2", { expiresAt: AT + 5 * MINUTE_MS })],
  },
  { id: "other", ...LIMITS, keys: [key("other.1", "3")] },
];
const POLICY = { maxRejections: 2, durationMs: 2 * MINUTE_MS };
const DAMAGED = 9n;

const anyId = fc.constantFrom(1n, 2n, 3n, 4n, DAMAGED);
const anyEvent = fc.constantFrom("cancel" as const, "ship" as const);
const anyAccount = fc.constantFrom("acme", "acme", "other");
const anyKeyId = fc.constantFrom("acme.1", "acme.2", "other.1");
const anyTime = fc.constantFrom(AT, AT, AT, AT + 1, AT + MINUTE_MS, AT - MINUTE_MS, AT + 10 * MINUTE_MS);
/** A key of the account, of the other one, or of none. */
const anyKey = fc.record({
  accountId: anyAccount,
  hash: fc.constantFrom("1", "1", "1", "2", "3", "4").map((digit) => digit.repeat(64)),
});
const anyOperation = fc.oneof(
  fc.constant(undefined),
  fc.constant({ type: "list" as const }),
  fc.record({ type: fc.constant("apply" as const), id: anyId, event: anyEvent }),
);
const anyPlan = fc.constantFrom<PlanAssignment>(LIMITS, { plan: "free" }, { plan: "enterprise" });

type Call = (store: Store) => Promise<unknown>;
const admissions = fc.tuple(anyKey, anyTime, anyOperation).map(
  ([presented, at, operation]): Call =>
    async ({ accounts }) => {
      const admission = await accounts.admit(presented, at, POLICY, operation);
      if (!admission.ok || admission.outcome?.type !== "list") return admission;
      return { ...admission, outcome: admission.outcome.first };
    },
);
const others = fc.oneof(
  fc.tuple(anyKey, fc.constantFrom(1, 3), anyTime).map(
    ([presented, count, at]): Call =>
      ({ accounts }) =>
        accounts.recordRejections(presented, count, at, POLICY),
  ),
  fc.tuple(anyAccount, anyKeyId).map(
    ([id, keyId]): Call =>
      ({ accounts }) =>
        accounts.unban(id, keyId),
  ),
  fc.tuple(anyAccount, anyKeyId).map(
    ([id, keyId]): Call =>
      ({ accounts }) =>
        accounts.update(id, (account) => revokeKey(account, keyId, AT)),
  ),
  fc.tuple(anyAccount, anyPlan).map(
    ([account, plan]): Call =>
      ({ accounts }) =>
        accounts.update(account, ({ id, keys }) => ({ ok: true, account: { id, keys, ...plan } })),
  ),
  anyAccount.map(
    (id): Call =>
      ({ accounts }) =>
        accounts.resetUsage(id),
  ),
  anyAccount.map(
    (id): Call =>
      ({ accounts }) =>
        accounts.delete(id),
  ),
  fc.constantFrom(...ACCOUNTS).map(
    (account): Call =>
      ({ accounts }) =>
        accounts.create(account),
  ),
  fc.constant<Call>(({ accounts }) => accounts.update("acme", () => expect.fail("no"))),
  anyId.map(
    (id): Call =>
      ({ orders }) =>
        orders.place([{ record: { id }, status: "pending" }], AT),
  ),
  fc.tuple(anyId, anyEvent).map(
    ([id, event]): Call =>
      ({ orders }) =>
        orders.apply(id, event, AT),
  ),
  fc.boolean().map(
    (on): Call =>
      async ({ outbox }) =>
        outbox?.switch(on),
  ),
);
const anyCalls = fc.array(fc.oneof({ weight: 4, arbitrary: admissions }, { weight: 1, arbitrary: others }), {
  minLength: 5,
  maxLength: 40,
  size: "max",
});

/** The results of calls, and every row that they leave. */
async function rowsAfter(
  calls: readonly Call[],
  perform: (calls: readonly (() => Promise<unknown>)[]) => Promise<readonly unknown[]>,
) {
  const { path, store } = open();
  for (const account of ACCOUNTS) await store.accounts.create(account);
  await store.orders.place(
    [1n, 2n, DAMAGED].map((id) => ({ record: { id }, status: "pending" })),
    AT,
  );
  const db = new DatabaseSync(path);
  db.prepare("UPDATE orders SET record = '{' WHERE id = ?").run(DAMAGED);
  const results = await perform(
    calls.map((call) => () => call(store).catch((error: Error) => `${error.name}: ${error.message}`)),
  );
  // The identifiers of changes are random.
  const orders = "(SELECT id, status, record, length(history) FROM orders)";
  const tables = ["accounts", "api_keys", orders, "outbox"];
  const rows = tables.map((table) => db.prepare(`SELECT * FROM ${table}`).all());
  db.close();
  await store.close();
  return { results, rows };
}

test("calls that share a transaction have the results of calls one after another, and leave the same rows", async () => {
  await fc.assert(
    fc.asyncProperty(anyCalls, async (calls) => {
      const together = await rowsAfter(calls, (started) => Promise.all(started.map((call) => call())));
      const inTurn = await rowsAfter(calls, async (started) => {
        const results = [];
        for (const call of started) results.push(await call());
        return results;
      });
      expect(together).toEqual(inTurn);
    }),
    { numRuns: 30 },
  );
}, 60_000);
