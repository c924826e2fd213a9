import type { AccountStore } from "../../accounts/account-store.ts";
import {
  type Admission,
  decideAdmission,
  decideRejections,
  withoutOneRequest,
} from "../../accounts/admission.ts";
import type { ParsedKey } from "../../accounts/api-key.ts";
import { isStoreUnavailable } from "../../core/errors.ts";
import { CALL_TIMEOUT_MS, schedule } from "../../core/time.ts";
import { newChange, packChange } from "../../orders/history.ts";
import { isInt64 } from "../../orders/int64.ts";
import { decideEvent } from "../../orders/lifecycle.ts";
import type { ApplyResult } from "../../orders/order-store.ts";
import { readOrderToChange } from "../../orders/wire.ts";
import type { Usage } from "../../plans/windows.ts";
import { ACCOUNT_COLUMNS, readRow, rejectionValues, type SavedKey, toAccountRow } from "../account-rows.ts";
import { listOutcome } from "../order-rows.ts";
import { cancelText, cancelValues, findCancels, type Task } from "./cancel.ts";
import { type Database, isTrue, type Work } from "./database.ts";
import { isLocked } from "./errors.ts";
import { listPageStatement, pageReader, toListPage } from "./list.ts";
import { type OrderUpdate, updateOrders } from "./orders.ts";
import type { Rows, Statement } from "./statement.ts";

const MAX_GROUP_SIZE = 500;

/** Of different accounts: one is prepared while the other waits for the disk. */
const MAX_GROUPS = 2;

/** For a lock. Then each of its accounts waits on its own. */
const MAX_GROUP_WAIT_MS = 300;

/**
 * Admits requests and counts rejections, in groups. What arrives while a group is committed is the next group:
 *
 *     admit() ──→ waiting ──→ group ──→ cancels in one statement ──→ the others in one transaction ──→ result
 *                    ↑ account is busy                 │ a lock is held for long
 *                    │                                 └──→ a transaction for each account, which waits longer ──→ result
 *                    └── what arrives for an account that is in a group, or on its own
 */
export function createAdmission(database: Database): Pick<AccountStore, "admit" | "recordRejections"> {
  const text = cancelText(database.schema);
  let waiting: Task[] = [];
  const busy = new Set<string>();
  let groups = 0;

  function enqueue(request: Omit<Task, "since" | "resolve" | "reject">): Promise<Admission | undefined> {
    const { promise, resolve, reject } = Promise.withResolvers<Admission | undefined>();
    waiting.push({ ...request, since: performance.now(), resolve, reject });
    if (!busy.has(request.key.accountId)) void commitGroups();
    return database.track(promise);
  }

  async function commitGroups(): Promise<void> {
    if (groups === MAX_GROUPS) return;
    groups++;
    // Tasks that arrive in the rest of this turn of the event loop join the group.
    await new Promise<void>(schedule);
    for (let group = take((id) => !busy.has(id)); group.length > 0; group = take((id) => !busy.has(id))) {
      const locked = Map.groupBy(await commitGroup(group), accountOf);
      for (const id of group.map(accountOf)) if (!locked.has(id)) busy.delete(id);
      for (const [id, tasks] of locked) void commitAccount(id, tasks);
    }
    groups--;
  }

  function take(isTaken: (accountId: string) => boolean): readonly Task[] {
    const group = waiting.filter((task) => isTaken(accountOf(task))).slice(0, MAX_GROUP_SIZE);
    const taken = new Set(group);
    waiting = waiting.filter((task) => !taken.has(task));
    for (const task of group) busy.add(accountOf(task));
    return group;
  }

  /** Returns the tasks of accounts that another transaction has locked, or among which one cannot be stored. */
  async function commitGroup(group: readonly Task[]): Promise<readonly Task[]> {
    let tasks = group;
    try {
      tasks = await cancelAtOnce(group);
      await decideTogether(tasks, MAX_GROUP_WAIT_MS);
      return [];
    } catch (error) {
      if (!isStoreUnavailable(error) || isLocked(error)) return tasks;
      for (const { reject } of tasks) reject(error);
      return [];
    }
  }

  /** Commits tasks of one account, and those that arrive meanwhile. The others do not wait for it. */
  async function commitAccount(id: string, first: readonly Task[]): Promise<void> {
    for (let tasks = first; tasks.length > 0; tasks = take((other) => other === id)) {
      await decideTogether(tasks, CALL_TIMEOUT_MS).catch((error: unknown) => {
        for (const { reject } of tasks) reject(error);
      });
    }
    busy.delete(id);
  }

  /** Returns the tasks that take more than one statement. */
  async function cancelAtOnce(tasks: readonly Task[]): Promise<readonly Task[]> {
    const cancels = findCancels(tasks);
    const [first] = cancels.values();
    if (first === undefined) return tasks;
    const statement = { text, values: cancelValues(cancels) };
    const rows = await database.changeAtOnce(statement, MAX_GROUP_WAIT_MS, first.since);
    const accounts = [...new Set(rows.map(([, , , account]) => `${account}`))];
    const group = openGroup(
      accounts.map((account) => JSON.parse(account)),
      rows.map(([id, status, record]) => [id, status, record, "", false]),
    );
    const done = new Set(rows.map(([id]) => cancels.get(`${id}`)));
    for (const task of done) task?.resolve(group.decide(task));
    return tasks.filter((task) => !done.has(task));
  }

  async function decideTogether(tasks: readonly Task[], maxLockWaitMs: number): Promise<void> {
    const [first] = tasks;
    if (first === undefined) return;
    const results = await database.change({ ...groupWork(database, tasks), maxLockWaitMs }, first.since);
    for (const [index, { resolve }] of tasks.entries()) resolve(results[index]);
  }

  return {
    async admit(key, at, policy, operation) {
      const change =
        operation?.type === "apply"
          ? newChange(operation.event, at, { requestId: operation.requestId })
          : undefined;
      return (await enqueue({ key, at, policy, operation, change })) as Admission;
    },
    async recordRejections(key, rejections, at, policy) {
      await enqueue({ key, at, policy, rejections });
    },
  };
}

const accountOf = ({ key }: Task) => key.accountId;

function groupWork(database: Database, tasks: readonly Task[]): Work<readonly (Admission | undefined)[]> {
  const { schema } = database;
  const orderIds = new Set(
    tasks.flatMap(({ operation }) =>
      operation?.type === "apply" && isInt64(operation.id) ? [`${operation.id}`] : [],
    ),
  );
  const lockKeys = {
    // The keys are locked too: a statement that has waited for a lock sees other rows as they were before. In the
    // order of the identifiers, so that two transactions never wait for each other.
    text: `SELECT ${ACCOUNT_COLUMNS} FROM ${schema}.accounts a JOIN ${schema}.api_keys k ON k.account = a.id
           WHERE k.account = ANY ($1::text[]) AND k.hash = ANY ($2::text[]) ORDER BY a.id, k.hash FOR NO KEY UPDATE`,
    values: [[...new Set(tasks.map(accountOf))], [...new Set(tasks.map(({ key }) => key.hash))]],
  };
  const lockOrders = {
    // An order that another transaction has locked is read as committed: a wait would stop all other tasks.
    text: `WITH locked AS (SELECT id, status, record, history FROM ${schema}.orders WHERE id = ANY ($1::bigint[])
                           FOR NO KEY UPDATE SKIP LOCKED)
           SELECT o.id, coalesce(l.status, o.status), coalesce(l.record, o.record), coalesce(l.history, o.history),
             l.id IS NULL FROM ${schema}.orders o LEFT JOIN locked l ON l.id = o.id WHERE o.id = ANY ($1::bigint[])`,
    values: [[...orderIds]],
  };
  return {
    // Counters and bans survive the end of this process. A crash of the server can lose those of the last second.
    durable: orderIds.size > 0,
    first: orderIds.size > 0 ? [lockKeys, lockOrders] : [lockKeys],
    decide([keyRows = [], orderRows = []]) {
      const group = openGroup(keyRows, orderRows);
      const admissions = tasks.map(group.decide);
      const isList = tasks.map(({ operation }, index) => operation?.type === "list" && admissions[index]?.ok);
      const writes = group.writes(schema);
      return {
        writes: isList.includes(true) ? [...writes, listPageStatement(schema)] : writes,
        result: (rows) =>
          admissions.map((admission, index) => {
            const page = isList[index] ? rows?.at(-1) : undefined;
            if (page === undefined || admission?.ok !== true) return admission;
            return { ...admission, outcome: listOutcome(toListPage(page), pageReader(database)) };
          }),
      };
    },
  };
}

/** Decides tasks on locked keys and orders, each on what the one before it left, and collects what has to be saved. */
function openGroup(keyRows: Rows, orderRows: Rows) {
  const nameOf = ({ accountId, hash }: ParsedKey) => `${accountId} ${hash}`;
  const found = keyRows.map((row) => readRow(toAccountRow(row)));
  const keys = new Map(found.map((saved) => [nameOf({ ...saved, hash: saved.key.hash }), saved]));
  const changedKeys = new Map<string, SavedKey>();
  /** By account: its keys share it. */
  const changedUsages = new Map<string, Usage>();
  /** The row of each order that exists, and whether another transaction has locked it. */
  const orders = new Map(orderRows.map(([id, ...row]) => [`${id}`, row]));
  const changedOrders = new Map<string, OrderUpdate>();

  function save(key: ParsedKey, saved: SavedKey): void {
    for (const map of [keys, changedKeys]) map.set(nameOf(key), saved);
  }

  function decide(task: Task): Admission | undefined {
    const { key, at, policy, rejections, operation } = task;
    const found = keys.get(nameOf(key));
    const saved = found && { ...found, usage: changedUsages.get(key.accountId) ?? found.usage };
    if (rejections !== undefined) {
      const counted = decideRejections(saved, rejections, at, policy);
      if (saved !== undefined && counted !== undefined) save(key, { ...saved, rejections: counted });
      return undefined;
    }
    // The response to a commit was lost: the task is decided again on the state before, and nothing is saved.
    const isDone = isCommitted(task);
    const decision = decideAdmission(isDone ? withoutOneRequest(saved) : saved, at, policy);
    const { admission } = decision;
    if (saved !== undefined && !isDone) {
      const { usage, rejections: counted } = decision.save;
      if (usage !== undefined) changedUsages.set(key.accountId, usage);
      // Once in a minute, with the other changes of keys.
      if (usage !== undefined && saved.usedAt !== usage.minute.start)
        save(key, { ...saved, usedAt: usage.minute.start });
      if (counted !== undefined) save(key, { ...saved, rejections: counted });
    }
    if (!admission.ok || operation?.type !== "apply") return admission;
    const result = apply(task, admission.caller.keyId, isDone);
    return result === undefined ? admission : { ...admission, outcome: { type: "apply", result } };
  }

  function isCommitted({ operation, change }: Task): boolean {
    if (operation?.type !== "apply" || change?.token === undefined) return false;
    return `${orders.get(`${operation.id}`)?.[2] ?? ""}`.includes(`.${change.token},`);
  }

  /** Returns `undefined` for an order that is locked or damaged: the caller applies the event again, on its own. */
  function apply({ operation, at, change }: Task, by: string, isDone: boolean): ApplyResult | undefined {
    if (operation?.type !== "apply" || change === undefined) return undefined;
    const { id, event } = operation;
    const row = orders.get(`${id}`);
    if (row === undefined) return { ok: false, code: "order_not_found" };
    const [status, record, , isLocked] = row;
    if (isTrue(isLocked) && !isDone) return undefined;
    try {
      const update = changedOrders.get(`${id}`);
      const order = update?.after ?? readOrderToChange(id, `${record}`, `${status}`, event);
      if (isDone) return { ok: true, order };
      const { result, changed } = decideEvent(order, event, at);
      if (changed !== undefined) {
        const added = `${update?.added ?? ""}${packChange({ ...change, by })}`;
        changedOrders.set(`${id}`, { id, before: update?.before ?? order, after: changed, added });
      }
      return result;
    } catch {
      return undefined;
    }
  }

  function writes(schema: string): readonly Statement[] {
    const usages = [...changedUsages].map(([id, { minute, day }]) => [
      ...[id, minute.start, minute.count],
      ...[day.start, day.count],
    ]);
    const updateUsages = {
      text: `UPDATE ${schema}.accounts a SET minute_start = n.minute_start, minute_count = n.minute_count,
               day_start = n.day_start, day_count = n.day_count
             FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[])
               AS n (id, minute_start, minute_count, day_start, day_count) WHERE a.id = n.id`,
      values: columnsOf(usages),
    };
    const ofKeys = [...changedKeys.values()].map(({ accountId, key, rejections, usedAt }) => [
      ...[accountId, key.hash],
      ...[...rejectionValues(rejections), usedAt],
    ]);
    const updateKeys = {
      text: `UPDATE ${schema}.api_keys k SET rejections_start = n.start, rejections_count = n.count,
               banned_until = n.until, used_at = n.used
             FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[])
               AS n (account, hash, start, count, until, used) WHERE k.account = n.account AND k.hash = n.hash`,
      values: columnsOf(ofKeys),
    };
    return [
      ...(usages.length > 0 ? [updateUsages] : []),
      ...(ofKeys.length > 0 ? [updateKeys] : []),
      ...(changedOrders.size > 0 ? [updateOrders(schema, [...changedOrders.values()])] : []),
    ];
  }

  return { decide, writes };
}

/** Rows as arrays of the values of each column, which `unnest` takes. */
function columnsOf(rows: readonly (readonly unknown[])[]): readonly unknown[] {
  return rows[0]?.map((_, column) => rows.map((row) => row[column])) ?? [];
}
