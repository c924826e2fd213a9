/** Counts requests and cancels their orders: both or neither. Compared with two round trips, the throughput doubles. */
import type { Admission, AdmissionPolicy } from "../../accounts/admission.ts";
import type { ParsedKey } from "../../accounts/api-key.ts";
import type { Instant } from "../../core/time.ts";
import { type OrderChange, packChange } from "../../orders/history.ts";
import { isInt64 } from "../../orders/int64.ts";
import { LIFECYCLE } from "../../orders/lifecycle.ts";
import type { StoreOperation } from "../../orders/store-operation.ts";
import { PLAN_LIMITS, type PlanLimits } from "../../plans/plan-limits.ts";
import { MAX_CLOCK_SKEW_MS, MINUTE_MS } from "../../plans/windows.ts";
import { ACCOUNT_COLUMNS } from "../account-rows.ts";
import { SET_DURABLE } from "./database.ts";
import { SCHEMA_VERSION } from "./schema.ts";

export interface Task {
  readonly key: ParsedKey;
  readonly at: Instant;
  readonly policy?: AdmissionPolicy | undefined;
  readonly operation?: StoreOperation | undefined;
  /** The change that `operation` makes. In the history of the order, its token shows that it has been made. */
  readonly change?: OrderChange | undefined;
  readonly rejections?: number;
  /** The instant of the call, from `performance.now()`. */
  readonly since: number;
  readonly resolve: (value: Admission | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/** The tasks that one statement can do, by their order: cancels with one key of each account, and with one policy. */
export function findCancels(tasks: readonly Task[]): ReadonlyMap<string, Task> {
  const cancels = new Map<string, Task>();
  const hashes = new Map<string, string>();
  for (const task of tasks) {
    const { key, policy, operation } = task;
    if (operation?.type !== "apply" || operation.event !== "cancel" || !isInt64(operation.id)) continue;
    const [first = task] = cancels.values();
    const hasOtherPlans = first.policy?.plans !== policy?.plans;
    const hasOtherKey = (hashes.get(key.accountId) ?? key.hash) !== key.hash;
    if (hasOtherPlans || hasOtherKey || cancels.has(`${operation.id}`)) continue;
    hashes.set(key.accountId, key.hash);
    cancels.set(`${operation.id}`, task);
  }
  return cancels;
}

/** Stands for the key's identifier, which only the database knows, in what `packChange` writes. */
const KEY_ID = "~";

export function cancelValues(cancels: ReadonlyMap<string, Task>): readonly unknown[] {
  const tasks = [...cancels.values()];
  const byAccount = [...Map.groupBy(tasks, ({ key }) => key.accountId)];
  const instants = tasks.map(({ at }) => at);
  return [
    byAccount.map(([account]) => account),
    byAccount.map(([, [first]]) => first?.key.hash),
    byAccount.map(([, { length }]) => length),
    Math.min(...instants),
    Math.max(...instants),
    JSON.stringify(tasks[0]?.policy?.plans ?? PLAN_LIMITS),
    [...cancels.keys()],
    tasks.map(({ key }) => key.accountId),
    tasks.map(({ change }) => change && packChange({ ...change, by: KEY_ID })),
  ];
}

const CANCELLABLE = LIFECYCLE.statuses.filter((status) => LIFECYCLE.acceptsEvent(status, "cancel"));
const CANCELLED = LIFECYCLE.table.pending.cancel.to;

/**
 * Its condition is that `decideAdmission` admits all of an account in a minute that has begun, and that no other
 * transaction has locked the order. It returns the orders that it has cancelled, and the row of the account, as they were
 * before. JSON is sent as text: a driver can serialize a value for a parameter of the type jsonb once more.
 */
export function cancelText(schema: string): string {
  const limit = (name: keyof PlanLimits, column: string) =>
    `CASE plans ->> a.plan WHEN 'custom' THEN a.${column} ELSE (plans -> a.plan ->> '${name}')::numeric END`;
  return `WITH
    current AS MATERIALIZED (
      SELECT ${SET_DURABLE}, $6::text::jsonb AS plans
      FROM ${schema}.settings WHERE name = 'schema_version' AND value = '${SCHEMA_VERSION}'),
    admitted AS MATERIALIZED (
      SELECT a.id, k.id AS key, json_build_array(${ACCOUNT_COLUMNS})::text AS state
      FROM current, unnest($1::text[], $2::text[], $3::bigint[]) AS c (account, hash, requests)
        JOIN ${schema}.accounts a ON a.id = c.account
        JOIN ${schema}.api_keys k ON k.account = c.account AND k.hash = c.hash
      WHERE k.revoked_at IS NULL AND coalesce(k.expires_at > $5::bigint, true)
        AND coalesce(k.banned_until <= $4::bigint, true) AND k.used_at = a.minute_start AND k.id ~ '^[A-Za-z0-9_.-]+$'
        AND a.minute_start BETWEEN $5::bigint - $5::bigint % ${MINUTE_MS} AND $4::bigint + ${MAX_CLOCK_SKEW_MS}
        AND a.minute_count + c.requests <= ${limit("perMinute", "per_minute")}
        AND a.day_count + c.requests <= ${limit("perDay", "per_day")}
      ORDER BY a.id FOR NO KEY UPDATE OF a, k),
    found AS MATERIALIZED (
      SELECT o.id, o.status, a.id AS account, a.state, regexp_replace(w.change, '${KEY_ID}', a.key) AS change
      FROM admitted a
        JOIN unnest($7::bigint[], $8::text[], $9::text[]) AS w (id, account, change) ON w.account = a.id
        JOIN ${schema}.orders o ON o.id = w.id
      WHERE o.status IN (${CANCELLABLE.map((status) => `'${status}'`).join(", ")})
      FOR NO KEY UPDATE OF o SKIP LOCKED),
    cancelled AS (
      UPDATE ${schema}.orders o SET status = '${CANCELLED}', history = o.history || f.change
      FROM found f WHERE o.id = f.id RETURNING o.id, f.status, o.record, f.state, f.account),
    counted AS (
      UPDATE ${schema}.accounts a SET minute_count = a.minute_count + n.requests, day_count = a.day_count + n.requests
      FROM (SELECT account, count(*) AS requests FROM cancelled GROUP BY account) n WHERE a.id = n.account)
    SELECT id, status, record, state FROM cancelled`;
}
