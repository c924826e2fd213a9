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
import { isInt64 } from "../../orders/int64.ts";
import { type StoredOrder, transitionStoredOrder } from "../../orders/lifecycle.ts";
import type { StoreOperation, StoreOutcome } from "../../orders/store-operation.ts";
import { readStoredOrder } from "../../orders/wire.ts";
import type { Usage } from "../../plans/windows.ts";
import { ACCOUNT_COLUMNS, type AccountRow, readRow } from "../account-rows.ts";
import { combined, type Database, type Rows, type Statement, type Work } from "./database.ts";
import { isLocked } from "./errors.ts";
import { listOutcome, listPageStatement } from "./list.ts";
import { updateOrders } from "./orders.ts";

/** One request, or rejections to record. */
type Task =
  | {
      readonly type: "admit";
      readonly key: ParsedKey;
      readonly at: Instant;
      readonly policy: AdmissionPolicy | undefined;
      readonly operation: StoreOperation | undefined;
    }
  | {
      readonly type: "reject";
      readonly key: ParsedKey;
      readonly at: Instant;
      readonly policy: BanPolicy | undefined;
      readonly count: number;
      readonly token: string | undefined;
    };

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

/** The longest wait of a group of several accounts for a lock. Then each account waits on its own. */
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
      const byAccount = Map.groupBy(jobs, ({ task }) => task.key.accountId);
      const error = await run(jobs, byAccount.size > 1 ? MAX_GROUP_WAIT_MS : undefined);
      if (error === undefined) continue;
      const isCausedByOne = isLocked(error) || !isStoreUnavailable(error);
      if (byAccount.size === 1 || !isCausedByOne) for (const { reject } of jobs) reject(error);
      else for (const [account, its] of byAccount) void drainSeparately(account, its);
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
  async function run(jobs: readonly Job[], maxLockWaitMs?: number): Promise<unknown> {
    const work = groupWork(
      database,
      jobs.map(({ task }) => task),
    );
    try {
      const limit = maxLockWaitMs === undefined ? {} : { maxLockWaitMs };
      const results = await database.change({ ...work, ...limit }, jobs[0]?.since);
      for (const [index, { resolve }] of jobs.entries()) resolve(results[index]);
      return undefined;
    } catch (error) {
      return error;
    }
  }

  return {
    async admit(key, at, policy, operation) {
      return (await enqueue({ type: "admit", key, at, policy, operation })) as Admission;
    },
    async recordRejections(key, count, at, policy, token) {
      await enqueue({ type: "reject", key, count, at, policy, token });
    },
  };
}

/** One transaction for a group of tasks. Each is decided on what the one before it left. */
function groupWork(database: Database, tasks: readonly Task[]): Work<readonly (Admission | undefined)[]> {
  const { schema } = database;
  const accountIds = [...new Set(tasks.map(({ key }) => key.accountId))];
  const hashes = [...new Set(tasks.map(({ key }) => key.hash))];
  const orderIds = new Set(
    tasks.flatMap((task) => {
      const operation = task.type === "admit" ? task.operation : undefined;
      return operation?.type === "apply" && isInt64(operation.id) ? [`${operation.id}`] : [];
    }),
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
      const admissions = tasks.map((task) =>
        task.type === "reject"
          ? accounts.reject(task)
          : withOutcome(accounts.admit(task), task, orders.apply),
      );
      const hasList = tasks.some((task, index) => isAdmittedList(task, admissions[index]));
      return {
        writes: [
          ...combined([...accounts.writes(), ...orders.writes()]),
          ...(hasList ? [listPageStatement(schema)] : []),
        ],
        result: (rows) =>
          tasks.map((task, index) => {
            const admission = admissions[index];
            const page = rows?.at(-1);
            if (admission?.ok !== true || !isAdmittedList(task, admission) || page === undefined)
              return admission;
            return { ...admission, outcome: listOutcome(database, page) };
          }),
      };
    },
  };
}

type AdmitTask = Extract<Task, { readonly type: "admit" }>;
type RejectTask = Extract<Task, { readonly type: "reject" }>;

function isAdmittedList(task: Task, admission: Admission | undefined): boolean {
  return task.type === "admit" && task.operation?.type === "list" && admission?.ok === true;
}

function withOutcome(
  admission: Admission,
  { operation, at }: AdmitTask,
  apply: (operation: StoreOperation, at: Instant) => StoreOutcome | undefined,
): Admission {
  const outcome = admission.ok && operation !== undefined ? apply(operation, at) : undefined;
  return admission.ok && outcome !== undefined ? { ...admission, outcome } : admission;
}

/** The number of calls of `recordRejections` that a key remembers, so that a repeated one does not count again. */
const MAX_TOKENS = 8;

/** Decides about accounts and keys, and collects what has to be saved. */
function accountChanges(schema: string, rows: Rows) {
  const states = new Map<string, KeyState>();
  const tokens = new Map<string, readonly string[]>();
  /** By account: its keys share them. */
  const usages = new Map<string, Usage>();
  const changedUsages = new Set<string>();
  const changedKeys = new Set<string>();
  const nameOf = ({ accountId, hash }: ParsedKey) => `${accountId} ${hash}`;
  for (const row of rows) {
    const account = toAccountRow(row.slice(0, -1));
    const accountId = account[0];
    const state = { accountId, ...readRow(account) };
    const name = nameOf({ accountId, hash: state.key.hash });
    states.set(name, state);
    tokens.set(name, JSON.parse(`${row.at(-1) ?? "[]"}`));
    usages.set(accountId, state.usage);
  }
  const stateOf = (key: ParsedKey): KeyState | undefined => {
    const state = states.get(nameOf(key));
    return state && { ...state, usage: usages.get(key.accountId) ?? state.usage };
  };
  const saveRejections = (state: KeyState, key: ParsedKey, rejections: RejectionCount) => {
    states.set(nameOf(key), { ...state, rejections });
    changedKeys.add(nameOf(key));
  };

  return {
    admit({ key, at, policy }: AdmitTask): Admission {
      const state = stateOf(key);
      const { admission, save } = decideAdmission(state, at, policy);
      if (state === undefined) return admission;
      if (save.usage !== undefined) {
        usages.set(key.accountId, save.usage);
        changedUsages.add(key.accountId);
      }
      if (save.rejections !== undefined) saveRejections(state, key, save.rejections);
      return admission;
    },

    reject({ key, count, at, policy, token }: RejectTask): undefined {
      const state = stateOf(key);
      const rejections = decideRejections(state, count, at, policy);
      const recorded = tokens.get(nameOf(key)) ?? [];
      const isRecorded = token !== undefined && recorded.includes(token);
      if (state === undefined || rejections === undefined || isRecorded) return;
      saveRejections(state, key, rejections);
      if (token !== undefined) tokens.set(nameOf(key), [...recorded, token].slice(-MAX_TOKENS));
    },

    writes(): readonly Statement[] {
      const writes: Statement[] = [];
      if (changedUsages.size > 0) {
        const changed = [...changedUsages].flatMap((id) => {
          const usage = usages.get(id);
          return usage === undefined ? [] : [{ id, ...usage }];
        });
        writes.push({
          text: `UPDATE ${schema}.accounts a SET minute_start = n.minute_start, minute_count = n.minute_count,
                   day_start = n.day_start, day_count = n.day_count
                 FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[])
                   AS n (id, minute_start, minute_count, day_start, day_count) WHERE a.id = n.id`,
          values: [
            changed.map(({ id }) => id),
            changed.map(({ minute }) => minute.start),
            changed.map(({ minute }) => minute.count),
            changed.map(({ day }) => day.start),
            changed.map(({ day }) => day.count),
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
                   banned_until = n.until, rejections_tokens = n.tokens
                 FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[])
                   AS n (account, hash, start, count, until, tokens) WHERE k.account = n.account AND k.hash = n.hash`,
          values: [
            changed.map(({ accountId }) => accountId),
            changed.map(({ key }) => key.hash),
            changed.map(({ rejections }) => rejections?.windowStart ?? null),
            changed.map(({ rejections }) => rejections?.count ?? null),
            changed.map(({ rejections }) => rejections?.bannedUntil ?? null),
            changed.map(({ tokens: recorded }) => JSON.stringify(recorded)),
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
  const changed = new Set<string>();
  return {
    /** Returns `undefined` for an order that is locked or damaged: the caller applies the event again, on its own. */
    apply(operation: StoreOperation, at: Instant): StoreOutcome | undefined {
      if (operation.type !== "apply") return undefined;
      const id = `${operation.id}`;
      if (!orders.has(id)) return { type: "apply", result: { ok: false, code: "order_not_found" } };
      const order = orders.get(id);
      if (order === undefined) return undefined;
      try {
        const result = transitionStoredOrder(order, operation.event, at);
        if (result.ok) {
          orders.set(id, result.order);
          changed.add(id);
        }
        return { type: "apply", result };
      } catch {
        return undefined;
      }
    },

    writes(): readonly Statement[] {
      const saved = [...changed].flatMap((id) => orders.get(id) ?? []);
      return saved.length === 0 ? [] : [updateOrders(schema, saved)];
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
const STRINGS = new Set([0, 1, 8, 9, 13]);

/** Converts the columns of `ACCOUNT_COLUMNS`. */
export function toAccountRow(row: readonly unknown[]): AccountRow {
  const values = row.map((value, place) => (value === null || STRINGS.has(place) ? value : Number(value)));
  return values as unknown as AccountRow;
}
