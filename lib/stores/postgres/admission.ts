import { setImmediate as nextTurn } from "node:timers/promises";
import type { AccountStore } from "../../accounts/account-store.ts";
import {
  type Admission,
  type AdmissionPolicy,
  decideAdmission,
  decideRejections,
  type KeyState,
  withoutOneRequest,
} from "../../accounts/admission.ts";
import type { ParsedKey } from "../../accounts/api-key.ts";
import { isStoreUnavailable } from "../../core/errors.ts";
import { CALL_TIMEOUT_MS, type Instant } from "../../core/time.ts";
import { decideEvent, newChange, type OrderChange, packChange } from "../../orders/history.ts";
import { isInt64 } from "../../orders/int64.ts";
import {
  acceptsEvent,
  LIFECYCLE,
  ORDER_STATUSES,
  type OrderEvent,
  type StoredOrder,
  transitionStoredOrder,
} from "../../orders/lifecycle.ts";
import type { ApplyResult } from "../../orders/order-store.ts";
import type { StoreOperation } from "../../orders/store-operation.ts";
import { readOrderToChange } from "../../orders/wire.ts";
import { PLAN_LIMITS, type PlanLimits, type PlanTable } from "../../plans/plan-limits.ts";
import { MAX_CLOCK_SKEW_MS, MINUTE_MS, type Usage } from "../../plans/windows.ts";
import { ACCOUNT_COLUMNS, readRow, toAccountRow } from "../account-rows.ts";
import { listOutcome } from "../order-rows.ts";
import { combined, type Database, type Rows, SET_DURABLE, type Statement, type Work } from "./database.ts";
import { isLocked } from "./errors.ts";
import { listPageStatement, pageReader, toListPage } from "./list.ts";
import { type OrderUpdate, updateOrders } from "./orders.ts";
import { SCHEMA_VERSION } from "./schema.ts";

/** A request, or rejections to record. */
interface Task {
  readonly key: ParsedKey;
  readonly at: Instant;
  readonly policy?: AdmissionPolicy | undefined;
  readonly operation?: StoreOperation | undefined;
  /** The change that `operation` makes. Its token shows that `cancelAtOnce` has made it. */
  readonly change?: OrderChange | undefined;
  readonly rejections?: { readonly count: number; readonly token: string | undefined };
}

/** A task that waits for its transaction. */
interface Job {
  readonly task: Task;
  /** The instant of the call, from `performance.now()`. */
  readonly since: number;
  readonly resolve: (value: Admission | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/** The largest number of tasks in one transaction. */
const MAX_GROUP_SIZE = 500;

/** The most groups at once, of different accounts: one is prepared while the other waits for the disk. */
const MAX_GROUPS = 2;

/** The longest wait of a group for a lock. Then each of its accounts waits on its own. */
const MAX_GROUP_WAIT_MS = 300;

/**
 * Admits requests and counts rejections. What arrives while one group is committed is the next group. One statement does its
 * cancels, and a transaction what that leaves. An account that another transaction has locked for long gets transactions of
 * its own, so that the others do not wait for it.
 */
export function createAdmission(database: Database): Pick<AccountStore, "admit" | "recordRejections"> {
  /** The jobs that wait for a transaction of an account that has its own. */
  const separate = new Map<string, Job[]>();
  const shared: Job[] = [];
  const text = cancelText(database.schema);
  /** The accounts of the groups that are being committed. */
  const busy = new Set<string>();
  let groups = 0;

  function enqueue(task: Task): Promise<Admission | undefined> {
    const { promise, resolve, reject } = Promise.withResolvers<Admission | undefined>();
    const job = { task, since: performance.now(), resolve, reject };
    const { accountId } = task.key;
    (separate.get(accountId) ?? shared).push(job);
    if (groups < MAX_GROUPS && shared.length > 0 && !busy.has(accountId)) void drainShared();
    return database.track(promise);
  }

  async function drainShared(): Promise<void> {
    groups++;
    // What arrives in the rest of this turn of the event loop joins the group.
    await nextTurn();
    for (let group = takeGroup(); group.length > 0; group = takeGroup()) {
      const accounts = group.map(({ task }) => task.key.accountId);
      for (const account of accounts) busy.add(account);
      let jobs: readonly Job[] = group;
      try {
        jobs = await cancelAtOnce(group);
        await run(jobs, MAX_GROUP_WAIT_MS);
      } catch (error) {
        if (isStoreUnavailable(error) && !isLocked(error)) for (const { reject } of jobs) reject(error);
        else {
          const byAccount = Map.groupBy(jobs, ({ task }) => task.key.accountId);
          for (const [account, its] of byAccount) void drainSeparately(account, its);
        }
      }
      for (const account of accounts) busy.delete(account);
    }
    groups--;
  }

  /** Takes the jobs of accounts that no other group has. */
  function takeGroup(): readonly Job[] {
    const all = shared.splice(0);
    const group: Job[] = [];
    for (const job of all)
      (group.length < MAX_GROUP_SIZE && !busy.has(job.task.key.accountId) ? group : shared).push(job);
    return group;
  }

  async function drainSeparately(account: string, jobs: Job[]): Promise<void> {
    const queue = separate.get(account);
    if (queue !== undefined) return void queue.push(...jobs);
    separate.set(account, jobs);
    while (jobs.length > 0) {
      const group = jobs.splice(0, MAX_GROUP_SIZE);
      await run(group).catch((error: unknown) => {
        for (const { reject } of group) reject(error);
      });
    }
    separate.delete(account);
  }

  /** Runs jobs in one transaction, and resolves them. */
  async function run(jobs: readonly Job[], maxLockWaitMs = CALL_TIMEOUT_MS): Promise<void> {
    if (jobs.length === 0) return;
    const tasks = jobs.map(({ task }) => task);
    const results = await database.change({ ...groupWork(database, tasks), maxLockWaitMs }, jobs[0]?.since);
    for (const [index, { resolve }] of jobs.entries()) resolve(results[index]);
  }

  /** Does the cancels among jobs that take no more than one statement, and returns the other jobs. */
  async function cancelAtOnce(jobs: readonly Job[]): Promise<readonly Job[]> {
    const cancels = findCancels(jobs);
    const [first] = cancels.values();
    if (first === undefined) return jobs;
    const values = cancelValues([...cancels.values()].map(({ task }) => task));
    const options = { maxLockWaitMs: MAX_GROUP_WAIT_MS, since: first.since };
    const rows = await database.changeAtOnce({ text, values }, options);
    const states = new Set(rows.map(([, , , state]) => `${state}`));
    const accounts = accountChanges(
      database.schema,
      [...states].map((state) => JSON.parse(state)),
    );
    const done = new Set<Job>();
    for (const [id, status, record] of rows) {
      const job = cancels.get(`${id}`);
      if (job === undefined) continue;
      done.add(job);
      const order = readOrderToChange(BigInt(`${id}`), `${record}`, `${status}`, "cancel");
      const result = transitionStoredOrder(order, "cancel", job.task.at);
      const admission = accounts.decide(job.task);
      job.resolve(admission?.ok === true ? { ...admission, outcome: { type: "apply", result } } : admission);
    }
    return jobs.filter((job) => !done.has(job));
  }

  return {
    async admit(key, at, policy, operation) {
      const change =
        operation?.type === "apply"
          ? newChange(operation.event, at, { requestId: operation.requestId })
          : undefined;
      return (await enqueue({ key, at, policy, operation, change })) as Admission;
    },
    async recordRejections(key, count, at, policy, token) {
      await enqueue({ key, at, policy, rejections: { count, token } });
    },
  };
}

/** The jobs that one statement can do, by their order: cancels with one key of each account, and with one policy. */
function findCancels(jobs: readonly Job[]): ReadonlyMap<string, Job> {
  const cancels = new Map<string, Job>();
  const hashes = new Map<string, string>();
  const plans = new Set<PlanTable>();
  for (const job of jobs) {
    const { key, policy, operation } = job.task;
    if (operation?.type !== "apply" || operation.event !== "cancel" || !isInt64(operation.id)) continue;
    const table = policy?.plans ?? PLAN_LIMITS;
    const isOther =
      (plans.size > 0 && !plans.has(table)) || (hashes.get(key.accountId) ?? key.hash) !== key.hash;
    if (isOther || cancels.has(`${operation.id}`)) continue;
    plans.add(table);
    hashes.set(key.accountId, key.hash);
    cancels.set(`${operation.id}`, job);
  }
  return cancels;
}

/** The place of the key's identifier in what `packChange` writes. */
const KEY_ID = "~";

/** The values of `cancelText`. */
function cancelValues(cancels: readonly Task[]): readonly unknown[] {
  const byAccount = [...Map.groupBy(cancels, ({ key }) => key.accountId)];
  const instants = cancels.map(({ at }) => at);
  const changes = cancels.map(({ change }) =>
    change === undefined ? [] : packChange({ ...change, by: KEY_ID }).split(KEY_ID),
  );
  return [
    byAccount.map(([account]) => account),
    byAccount.map(([, [first]]) => first?.key.hash),
    byAccount.map(([, { length }]) => length),
    Math.min(...instants),
    Math.max(...instants),
    JSON.stringify(cancels[0]?.policy?.plans ?? PLAN_LIMITS),
    cancels.map(({ operation }) => (operation?.type === "apply" ? `${operation.id}` : null)),
    cancels.map(({ key }) => key.accountId),
    changes.map(([before]) => before),
    changes.map(([, ...after]) => after.join(KEY_ID)),
  ];
}

/** The statuses of orders that can be cancelled, and the one that they then have. */
const CANCELLABLE = ORDER_STATUSES.filter((status) => acceptsEvent(status, "cancel"));
const CANCELLED = LIFECYCLE.pending.cancel.to;

/**
 * The statement that counts requests and cancels their orders: either both or neither. Its condition is that
 * `decideAdmission` admits all of an account in a minute that has begun, and that no other transaction has locked the order.
 * It returns the orders that it has cancelled, and the row of the account, as they were before.
 */
function cancelText(schema: string): string {
  const limit = (name: keyof PlanLimits, column: string) =>
    `CASE $6::jsonb ->> a.plan WHEN 'custom' THEN a.${column} ELSE ($6::jsonb -> a.plan ->> '${name}')::numeric END`;
  return `WITH
    current AS MATERIALIZED (
      SELECT ${SET_DURABLE}
      FROM ${schema}.settings WHERE name = 'schema_version' AND value = '${SCHEMA_VERSION}'),
    admitted AS MATERIALIZED (
      SELECT a.id, k.id AS key, json_build_array(${ACCOUNT_COLUMNS}, k.rejections_tokens)::text AS state
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
      SELECT o.id, o.status, a.id AS account, a.state, w.before || a.key || w.after AS change
      FROM admitted a
        JOIN unnest($7::bigint[], $8::text[], $9::text[], $10::text[]) AS w (id, account, before, after) ON w.account = a.id
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

/** One transaction for a group of tasks. Each is decided on what the one before it left. */
function groupWork(database: Database, tasks: readonly Task[]): Work<readonly (Admission | undefined)[]> {
  const { schema } = database;
  const accountIds = [...new Set(tasks.map(({ key }) => key.accountId))];
  const hashes = [...new Set(tasks.map(({ key }) => key.hash))];
  const orderIds = new Set(
    tasks.flatMap(({ operation }) =>
      operation?.type === "apply" && isInt64(operation.id) ? [`${operation.id}`] : [],
    ),
  );
  return {
    // Counters and bans survive the end of this process. A crash of the server can lose those of the last second.
    durable: orderIds.size > 0,
    first: [
      {
        // The keys are locked too: a statement that has waited for a lock sees other rows as they were before. In the
        // order of the identifiers, so that two transactions never wait for each other.
        text: `SELECT ${ACCOUNT_COLUMNS}, k.rejections_tokens FROM ${schema}.accounts a JOIN ${schema}.api_keys k ON k.account = a.id
               WHERE a.id = ANY ($1::text[]) AND k.hash = ANY ($2::text[]) ORDER BY a.id, k.hash FOR NO KEY UPDATE`,
        values: [accountIds, hashes],
      },
      ...(orderIds.size === 0 ? [] : [lockOrders(schema, [...orderIds])]),
    ],
    decide([keyRows = [], orderRows = []]) {
      const accounts = accountChanges(schema, keyRows);
      const orders = orderChanges(schema, orderRows);
      const admissions = tasks.map((task) => {
        const cancelled = orders.changedBy(task);
        const admission = accounts.decide(task, { isCounted: cancelled !== undefined });
        if (admission?.ok !== true || task.operation?.type !== "apply") return admission;
        const result = cancelled ?? orders.apply(task, admission.caller.keyId);
        return result === undefined
          ? admission
          : { ...admission, outcome: { type: "apply" as const, result } };
      });
      const isList = tasks.map(({ operation }, index) => operation?.type === "list" && admissions[index]?.ok);
      const changes = combined([...accounts.writes(), ...orders.writes()]);
      return {
        writes: isList.includes(true) ? [...changes, listPageStatement(schema)] : changes,
        result(rows) {
          const page = rows?.at(-1);
          return admissions.map((admission, index) => {
            if (admission?.ok !== true || page === undefined || !isList[index]) return admission;
            return { ...admission, outcome: listOutcome(toListPage(page), pageReader(database)) };
          });
        },
      };
    },
  };
}

/** The number of calls of `recordRejections` that a key remembers, so that a repeated one does not count again. */
const MAX_TOKENS = 8;

/** A key with its account, and what the database has beside that. */
interface SavedKey extends KeyState {
  /** The minute of its last admitted request. */
  readonly usedAt: Instant | null;
  /** The last calls of `recordRejections`. */
  readonly tokens: readonly string[];
}

/** Damaged ones stop nobody: a repeated call then counts twice. */
function readTokens(stored: unknown): readonly string[] {
  try {
    return [JSON.parse(`${stored ?? "[]"}`)].flat();
  } catch {
    return [];
  }
}

/** Decides about accounts and keys, and collects what has to be saved. */
function accountChanges(schema: string, rows: Rows) {
  const states = new Map<string, SavedKey>();
  /** By account: its keys share it. */
  const changedUsages = new Map<string, Usage>();
  const changedKeys = new Map<string, SavedKey>();
  const nameOf = ({ accountId, hash }: ParsedKey) => `${accountId} ${hash}`;
  for (const row of rows) {
    const account = toAccountRow(row.slice(0, -1));
    const accountId = account[0];
    const state = { accountId, ...readRow(account), tokens: readTokens(row.at(-1)) };
    states.set(nameOf({ accountId, hash: state.key.hash }), state);
  }
  const stateOf = (key: ParsedKey) => {
    const state = states.get(nameOf(key));
    return state && { ...state, usage: changedUsages.get(key.accountId) ?? state.usage };
  };
  const saveKey = (key: ParsedKey, state: SavedKey) => {
    for (const map of [states, changedKeys]) map.set(nameOf(key), state);
  };

  return {
    /** Decides about a request, or counts rejections. One that is counted already changes nothing. */
    decide({ key, at, policy, rejections: added }: Task, { isCounted = false } = {}): Admission | undefined {
      const state = stateOf(key);
      if (added !== undefined) {
        const { count, token } = added;
        const rejections = decideRejections(state, count, at, policy);
        if (state === undefined || rejections === undefined) return undefined;
        const { tokens } = state;
        if (token === undefined) saveKey(key, { ...state, rejections });
        else if (!tokens.includes(token))
          saveKey(key, { ...state, rejections, tokens: [...tokens, token].slice(-MAX_TOKENS) });
        return undefined;
      }
      if (isCounted) return decideAdmission(withoutOneRequest(state), at, policy).admission;
      const { admission, save } = decideAdmission(state, at, policy);
      const { usage, rejections } = save;
      if (state === undefined) return admission;
      if (usage !== undefined) changedUsages.set(key.accountId, usage);
      // Once in a minute, with the other changes of keys.
      if (usage !== undefined && state.usedAt !== usage.minute.start)
        saveKey(key, { ...state, usedAt: usage.minute.start });
      if (rejections !== undefined) saveKey(key, { ...state, rejections });
      return admission;
    },

    writes(): readonly Statement[] {
      const writes: Statement[] = [];
      if (changedUsages.size > 0) {
        const usages = [...changedUsages.values()];
        writes.push({
          text: `UPDATE ${schema}.accounts a SET minute_start = n.minute_start, minute_count = n.minute_count,
                   day_start = n.day_start, day_count = n.day_count
                 FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[])
                   AS n (id, minute_start, minute_count, day_start, day_count) WHERE a.id = n.id`,
          values: [
            [...changedUsages.keys()],
            usages.map(({ minute }) => minute.start),
            usages.map(({ minute }) => minute.count),
            usages.map(({ day }) => day.start),
            usages.map(({ day }) => day.count),
          ],
        });
      }
      if (changedKeys.size > 0) {
        const changed = [...changedKeys.values()];
        writes.push({
          text: `UPDATE ${schema}.api_keys k SET rejections_start = n.start, rejections_count = n.count,
                   banned_until = n.until, rejections_tokens = n.tokens, used_at = n.used
                 FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::bigint[])
                   AS n (account, hash, start, count, until, tokens, used) WHERE k.account = n.account AND k.hash = n.hash`,
          values: [
            changed.map(({ accountId }) => accountId),
            changed.map(({ key }) => key.hash),
            changed.map(({ rejections }) => rejections?.windowStart ?? null),
            changed.map(({ rejections }) => rejections?.count ?? null),
            changed.map(({ rejections }) => rejections?.bannedUntil ?? null),
            changed.map(({ tokens }) => JSON.stringify(tokens)),
            changed.map(({ usedAt }) => usedAt),
          ],
        });
      }
      return writes;
    },
  };
}

/**
 * Locks orders, and reads them. One that another transaction has locked has no status: waiting for it would let all other
 * requests of the group wait.
 */
function lockOrders(schema: string, ids: readonly string[]): Statement {
  return {
    text: `WITH locked AS (SELECT id, status, record, history FROM ${schema}.orders WHERE id = ANY ($1::bigint[])
                           FOR NO KEY UPDATE SKIP LOCKED)
           SELECT o.id, l.status, l.record, l.history FROM ${schema}.orders o LEFT JOIN locked l ON l.id = o.id
           WHERE o.id = ANY ($1::bigint[])`,
    values: [ids],
  };
}

/** Applies events to the locked orders, and collects what has to be saved. */
function orderChanges(schema: string, rows: Rows) {
  /** The row of each order that exists. That of one that is locked has no status. */
  const found = new Map(rows.map(([id, ...row]) => [`${id}`, row]));
  const updates = new Map<string, OrderUpdate>();

  /** An order as the tasks before have left it. `undefined` if it is locked, or damaged in a way that matters. */
  function orderOf(id: bigint, event: OrderEvent): StoredOrder | undefined {
    const [status, record] = found.get(`${id}`) ?? [];
    if (typeof status !== "string") return undefined;
    try {
      return updates.get(`${id}`)?.after ?? readOrderToChange(id, `${record}`, status, event);
    } catch {
      return undefined;
    }
  }

  return {
    /** The result of a task that `cancelAtOnce` has done, and whose response was lost. Otherwise `undefined`. */
    changedBy({ operation, change }: Task): ApplyResult | undefined {
      if (operation?.type !== "apply" || change?.token === undefined) return undefined;
      const { id, event } = operation;
      const history = `${found.get(`${id}`)?.[2] ?? ""}`;
      const order = history.includes(`.${change.token},`) ? orderOf(id, event) : undefined;
      return order && { ok: true, order };
    },

    /** Returns `undefined` for an order that is locked or damaged: the caller applies the event again, on its own. */
    apply({ operation, at, change }: Task, by: string): ApplyResult | undefined {
      if (operation?.type !== "apply" || change === undefined) return undefined;
      const { id, event } = operation;
      if (!found.has(`${id}`)) return { ok: false, code: "order_not_found" };
      const order = orderOf(id, event);
      if (order === undefined) return undefined;
      try {
        const { result, changed } = decideEvent(order, event, at);
        if (changed !== undefined) {
          const { before = order, added = "" } = updates.get(`${id}`) ?? {};
          const history = added + packChange({ ...change, by });
          updates.set(`${id}`, { id, before, after: changed, added: history });
        }
        return result;
      } catch {
        return undefined;
      }
    },

    writes(): readonly Statement[] {
      return updates.size === 0 ? [] : [updateOrders(schema, [...updates.values()])];
    },
  };
}
