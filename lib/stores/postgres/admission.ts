import { setImmediate as nextTurn } from "node:timers/promises";
import type { RejectionCount } from "../../accounts/account.ts";
import type { AccountStore } from "../../accounts/account-store.ts";
import {
  type Admission,
  type AdmissionPolicy,
  type BanPolicy,
  decideAdmission,
  decideRejections,
  type KeyState,
} from "../../accounts/admission.ts";
import type { ParsedKey } from "../../accounts/api-key.ts";
import { isStoreUnavailable } from "../../core/errors.ts";
import type { Instant } from "../../core/time.ts";
import { isChange, packChange } from "../../orders/history.ts";
import { isInt64 } from "../../orders/int64.ts";
import { type StoredOrder, transitionStoredOrder } from "../../orders/lifecycle.ts";
import type { ApplyResult } from "../../orders/order-store.ts";
import type { StoreOperation } from "../../orders/store-operation.ts";
import { readStoredOrder } from "../../orders/wire.ts";
import type { Usage } from "../../plans/windows.ts";
import { ACCOUNT_COLUMNS, type AccountRow, readRow } from "../account-rows.ts";
import {
  CALL_TIMEOUT_MS,
  combined,
  type Database,
  type Rows,
  type Statement,
  type Work,
} from "./database.ts";
import { isLocked } from "./errors.ts";
import { listOutcome, listPageStatement } from "./list.ts";
import { updateOrders } from "./orders.ts";

/** A request, or rejections to record. */
interface Task {
  readonly key: ParsedKey;
  readonly at: Instant;
  readonly policy?: AdmissionPolicy | BanPolicy | undefined;
  readonly operation?: StoreOperation | undefined;
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

/** The longest wait of a group for a lock. Then each of its accounts waits on its own. */
const MAX_GROUP_WAIT_MS = 300;

/**
 * Admits requests and counts rejections. What arrives while one transaction commits shares the next one. An account that
 * another transaction has locked for long gets transactions of its own, so that the others do not wait for it.
 */
export function createAdmission(database: Database): Pick<AccountStore, "admit" | "recordRejections"> {
  /** The jobs that wait for a transaction of an account that has its own. */
  const separate = new Map<string, Job[]>();
  const shared: Job[] = [];
  let isDraining = false;

  function enqueue(task: Task): Promise<Admission | undefined> {
    const { promise, resolve, reject } = Promise.withResolvers<Admission | undefined>();
    const job = { task, since: performance.now(), resolve, reject };
    (separate.get(task.key.accountId) ?? shared).push(job);
    if (!isDraining && shared.length > 0) {
      isDraining = true;
      void drainShared();
    }
    return database.track(promise);
  }

  async function drainShared(): Promise<void> {
    // What arrives in the rest of this turn of the event loop joins the first group.
    await nextTurn();
    while (shared.length > 0) {
      const jobs = shared.splice(0, MAX_GROUP_SIZE);
      const error = await run(jobs, MAX_GROUP_WAIT_MS);
      if (error === undefined) continue;
      if (isStoreUnavailable(error) && !isLocked(error)) for (const { reject } of jobs) reject(error);
      else {
        const byAccount = Map.groupBy(jobs, ({ task }) => task.key.accountId);
        for (const [account, its] of byAccount) void drainSeparately(account, its);
      }
    }
    isDraining = false;
  }

  async function drainSeparately(account: string, jobs: Job[]): Promise<void> {
    const queue = separate.get(account);
    if (queue !== undefined) return void queue.push(...jobs);
    separate.set(account, jobs);
    while (jobs.length > 0) {
      const group = jobs.splice(0, MAX_GROUP_SIZE);
      const error = await run(group);
      if (error !== undefined) for (const { reject } of group) reject(error);
    }
    separate.delete(account);
  }

  /** Runs jobs in one transaction, and resolves them. Returns the error if none was done. */
  async function run(jobs: readonly Job[], maxLockWaitMs = CALL_TIMEOUT_MS): Promise<unknown> {
    const tasks = jobs.map(({ task }) => task);
    try {
      const results = await database.change({ ...groupWork(database, tasks), maxLockWaitMs }, jobs[0]?.since);
      for (const [index, { resolve }] of jobs.entries()) resolve(results[index]);
      return undefined;
    } catch (error) {
      return error;
    }
  }

  return {
    async admit(key, at, policy, operation) {
      return (await enqueue({ key, at, policy, operation })) as Admission;
    },
    async recordRejections(key, count, at, policy, token) {
      await enqueue({ key, at, policy, rejections: { count, token } });
    },
  };
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
        const admission = accounts.decide(task);
        if (admission?.ok !== true || task.operation?.type !== "apply") return admission;
        const result = orders.apply(task.operation, task.at, admission.caller.keyId);
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
            return { ...admission, outcome: listOutcome(database, page) };
          });
        },
      };
    },
  };
}

/** The number of calls of `recordRejections` that a key remembers, so that a repeated one does not count again. */
const MAX_TOKENS = 8;

/** Decides about accounts and keys, and collects what has to be saved. */
function accountChanges(schema: string, rows: Rows) {
  const states = new Map<string, KeyState & Pick<ReturnType<typeof readRow>, "usedAt">>();
  const tokens = new Map<string, readonly string[]>();
  /** By account: its keys share it. */
  const changedUsages = new Map<string, Usage>();
  const changedKeys = new Set<string>();
  const nameOf = ({ accountId, hash }: ParsedKey) => `${accountId} ${hash}`;
  for (const row of rows) {
    const account = toAccountRow(row.slice(0, -1));
    const accountId = account[0];
    const state = { accountId, ...readRow(account) };
    const name = nameOf({ accountId, hash: state.key.hash });
    states.set(name, state);
    tokens.set(name, JSON.parse(`${row.at(-1) ?? "[]"}`));
  }
  const stateOf = (key: ParsedKey) => {
    const state = states.get(nameOf(key));
    return state && { ...state, usage: changedUsages.get(key.accountId) ?? state.usage };
  };
  const saveKey = (key: ParsedKey, changed: { rejections: RejectionCount } | { usedAt: Instant }) => {
    const [name, state] = [nameOf(key), stateOf(key)];
    if (state !== undefined) states.set(name, { ...state, ...changed });
    changedKeys.add(name);
  };

  return {
    /** Decides about a request, or counts rejections. */
    decide({ key, at, policy, rejections: added }: Task): Admission | undefined {
      const state = stateOf(key);
      if (added !== undefined) {
        const rejections = decideRejections(state, added.count, at, policy);
        const recorded = tokens.get(nameOf(key)) ?? [];
        const isRecorded = added.token !== undefined && recorded.includes(added.token);
        if (state === undefined || rejections === undefined || isRecorded) return undefined;
        saveKey(key, { rejections });
        if (added.token !== undefined) tokens.set(nameOf(key), [...recorded, added.token].slice(-MAX_TOKENS));
        return undefined;
      }
      const { admission, save } = decideAdmission(state, at, policy);
      const { usage, rejections } = save;
      if (state === undefined) return admission;
      if (usage !== undefined) changedUsages.set(key.accountId, usage);
      // Once in a minute, with the other changes of keys.
      if (usage !== undefined && state.usedAt !== usage.minute.start)
        saveKey(key, { usedAt: usage.minute.start });
      if (rejections !== undefined) saveKey(key, { rejections });
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
        const changed = [...changedKeys].flatMap((name) => {
          const state = states.get(name);
          return state === undefined ? [] : [{ ...state, tokens: tokens.get(name) ?? [] }];
        });
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
            changed.map(({ tokens: recorded }) => JSON.stringify(recorded)),
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
    text: `WITH locked AS (SELECT id, status, record FROM ${schema}.orders WHERE id = ANY ($1::bigint[])
                           FOR NO KEY UPDATE SKIP LOCKED)
           SELECT o.id, l.status, l.record FROM ${schema}.orders o LEFT JOIN locked l ON l.id = o.id
           WHERE o.id = ANY ($1::bigint[])`,
    values: [ids],
  };
}

/** Applies events to the locked orders, and collects what has to be saved. */
function orderChanges(schema: string, rows: Rows) {
  const orders = new Map(rows.map(([id, status, record]) => [`${id}`, orderOf(status, record)]));
  /** What is added to the history of each order that changes. */
  const changed = new Map<string, string>();
  return {
    /** Returns `undefined` for an order that is locked or damaged: the caller applies the event again, on its own. */
    apply(
      { id, event, requestId }: Extract<StoreOperation, { type: "apply" }>,
      at: Instant,
      by: string,
    ): ApplyResult | undefined {
      const order = orders.get(`${id}`);
      if (order === undefined)
        return orders.has(`${id}`) ? undefined : { ok: false, code: "order_not_found" };
      try {
        const result = transitionStoredOrder(order, event, at);
        if (result.ok && isChange(order, event)) {
          orders.set(`${id}`, result.order);
          const earlier = changed.get(`${id}`) ?? "";
          changed.set(`${id}`, earlier + packChange({ event, at, by, requestId }));
        }
        return result;
      } catch {
        return undefined;
      }
    },

    writes(): readonly Statement[] {
      const saved = [...changed.keys()].flatMap((id) => orders.get(id) ?? []);
      return saved.length === 0 ? [] : [updateOrders(schema, saved, [...changed.values()])];
    },
  };
}

function orderOf(status: unknown, record: unknown): StoredOrder | undefined {
  if (status === null) return undefined;
  try {
    return readStoredOrder(`${record}`, `${status}`);
  } catch {
    return undefined;
  }
}

/** The places of strings in a row. All other columns are numbers. */
const STRINGS = new Set([0, 1, 8, 9, 13, 17]);

/** Converts the columns of `ACCOUNT_COLUMNS`. */
export function toAccountRow(row: readonly unknown[]): AccountRow {
  const values = row.map((value, place) => (value === null || STRINGS.has(place) ? value : Number(value)));
  return values as unknown as AccountRow;
}
