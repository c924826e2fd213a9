/** The check of a whole database: what no sequence of calls of a store could have left in it, and how to repair it. */
import { type Account, isActive, MAX_ACTIVE_KEYS } from "../accounts/account.ts";
import { MAX_BAN_MS } from "../accounts/admission.ts";
import { isAccountId } from "../accounts/api-key.ts";
import { errorMessage, explainIssues, isInvalidInput } from "../core/errors.ts";
import { type Instant, nextTurn } from "../core/time.ts";
import type { OrderChange } from "../orders/history.ts";
import { findStatusProblem, LIFECYCLE, type OrderStatus, statusAfter } from "../orders/lifecycle.ts";
import { orderToJson, parseFields, parseLine } from "../orders/wire.ts";
import { type PlanTable, validatePlan } from "../plans/plan-limits.ts";
import { DAY_MS, MINUTE_MS } from "../plans/windows.ts";

export interface Finding {
  readonly subject: string;
  readonly problem: string;
  readonly repair: string;
}

export type Report = (subject: string, problem: string, repair: string) => void;

export interface InspectedOrder {
  readonly id: bigint;
  readonly status: string;
  readonly wire: string;
  /** Reads its history. Throws if it is damaged. */
  readonly readHistory: () => readonly OrderChange[];
}

/** What a check reads of a database. It changes nothing, and each page is a read of its own, so that none takes long. */
export interface Inspection {
  /** Reports what only this kind of database can have wrong. False if the rows cannot be read. */
  inspect(report: Report): Promise<boolean>;
  orders(): AsyncIterable<readonly InspectedOrder[]>;
  accounts(): AsyncIterable<Account>;
  close(): Promise<void>;
}

export interface CheckProgress {
  readonly orders: number;
  readonly accounts: number;
  readonly findings: number;
}

export interface CheckResult extends CheckProgress {
  /** The instant of the newest change of an order. */
  readonly newest?: Instant;
}

/** Checks a database, and reports each finding. It can be in use: a finding is true of one moment. */
export async function checkDatabase(
  { inspect, orders, accounts }: Inspection,
  { at, plans, report, update }: CheckOptions,
): Promise<CheckResult> {
  const counts = { orders: 0, accounts: 0, findings: 0 };
  const add: Report = (subject, problem, repair) => {
    counts.findings++;
    report({ subject, problem, repair });
  };
  if (!(await inspect(add))) return counts;
  for await (const account of accounts()) {
    inspectAccount(account, at, plans, add);
    counts.accounts++;
    update(counts);
  }
  let newest: Instant | undefined;
  for await (const page of orders()) {
    for (const order of page)
      for (const { at } of inspectOrder(order, add)) newest = Math.max(newest ?? at, at);
    counts.orders += page.length;
    update(counts);
    await nextTurn();
  }
  return newest === undefined ? counts : { ...counts, newest };
}

interface CheckOptions {
  readonly at: Instant;
  readonly plans: PlanTable;
  report(finding: Finding): void;
  update(progress: CheckProgress): void;
}

function inspectOrder(
  { id, status, wire, readHistory }: InspectedOrder,
  report: Report,
): readonly OrderChange[] {
  const add = (problem: string, repair: string) => report(`order ${id}`, problem, repair);
  let changes: readonly OrderChange[] = [];
  try {
    changes = readHistory();
  } catch (error) {
    const repair = `Correct it in the database, then run 'changes retry'; or ${REMOVE_HISTORY}.`;
    add(`The history cannot be read, so its changes are not delivered: ${errorMessage(error)}`, repair);
  }
  if (!LIFECYCLE.isStatus(status))
    add(
      `The status '${status}' is not one of ${LIFECYCLE.statuses.join(", ")}, so every event of it fails.`,
      "Correct the status in the database.",
    );
  else if (!isExplained(status, changes))
    add(
      `The status is '${status}', to which no change in its history leads.`,
      `Correct the status in the database. If it is right, because somebody corrected it, ${REMOVE_HISTORY}.`,
    );
  const parsed = parseLine(wire, parseFields);
  const { record } = parsed.ok ? parsed.order : {};
  const repair = "Replace the record in the database by that of a backup or an export.";
  if (!parsed.ok) add(`The record cannot be read: ${explainIssues(parsed.issues)}`, repair);
  else if (record?.id !== id) add(`The record is that of order ${record?.id}.`, repair);
  else if (orderToJson(record) !== wire) add("The record is not in the form in which it is sent.", repair);
  const statusProblem = record && LIFECYCLE.isStatus(status) && findStatusProblem({ record, status });
  if (statusProblem)
    add(statusProblem, "Correct the status in the database, or remove 'complete' from the record.");
  return changes;
}

/** Only both: the outbox counts the changes of the history that were delivered. */
const REMOVE_HISTORY = "remove the history, and the order from the outbox";

/** True if an event has led to the status, or none is known: an order can be placed, as an import does, with any status. */
function isExplained(status: OrderStatus, changes: readonly OrderChange[]): boolean {
  const events = changes.map(({ event }) => event).filter((event) => event !== "place");
  return events.length === 0 || events.some((event) => statusAfter(event) === status);
}

function inspectAccount(account: Account, at: Instant, plans: PlanTable, report: Report): void {
  const { id, plan, customLimits, keys, usage, rejections } = account;
  const add = (problem: string, repair: string) => report(`account ${id}`, problem, repair);
  const restore = "Correct it in the database, or restore a backup.";
  if (!isAccountId(id)) add("No account can have this identifier, so no key leads to it.", restore);
  try {
    validatePlan({ plan, ...(customLimits === undefined ? {} : { customLimits }) }, plans);
  } catch (error) {
    if (!isInvalidInput(error)) throw error;
    const repair = `Give the file of your own plans with --plans; otherwise run 'accounts set-plan ${id}'.`;
    add(`The plan '${plan}' gives it no limits, so its keys are rejected. ${error.message}`, repair);
  }
  const active = keys.filter((key) => isActive(key, at));
  if (active.length > MAX_ACTIVE_KEYS)
    add(`It has ${active.length} active keys; at most ${MAX_ACTIVE_KEYS} are possible.`, "Revoke some.");
  for (const [index, key] of keys.entries()) {
    const { createdAt, expiresAt = createdAt, revokedAt = createdAt } = key;
    const isFirst = keys.findIndex((other) => other.id === key.id || other.hash === key.hash) === index;
    const isOwn = key.id.startsWith(`${id}.`) && isFirst;
    const isValid = HASH.test(key.hash) && [createdAt, expiresAt, revokedAt].every(Number.isSafeInteger);
    const problem = "Its identifier, hash or dates are not those of a key of this account.";
    const repair = `Revoke the key, and issue another one: 'keys list --account ${id}'.`;
    if (!isOwn || !isValid) report(`key ${key.id}`, problem, repair);
  }
  const windows = { minute: MINUTE_MS, day: DAY_MS } as const;
  for (const name of ["minute", "day"] as const) {
    const { start, count } = usage[name];
    if (!isCount(start) || start % windows[name] !== 0 || !isCount(count))
      add(`The window of its ${name}, ${count} requests since ${start}, is impossible.`, RESET(id));
  }
  const { minute, day } = usage;
  if (minute.start >= day.start && minute.start < day.start + DAY_MS && minute.count > day.count)
    add(`It has ${minute.count} requests in a minute of a day that has ${day.count}.`, RESET(id));
  for (const [keyId, { windowStart, count, firstAt = windowStart, bannedUntil = firstAt }] of Object.entries(
    rejections,
  )) {
    const banMs = bannedUntil - windowStart;
    const isPossible = isCount(windowStart) && windowStart % MINUTE_MS === 0 && isCount(count);
    if (!isPossible || !Number.isSafeInteger(bannedUntil) || banMs > MAX_BAN_MS + MINUTE_MS)
      report(`key ${keyId}`, "Its rejections or its ban are impossible.", `Run 'keys unban ${keyId}'.`);
  }
}

const HASH = /^[0-9a-f]{64}$/;
const RESET = (id: string) => `Run 'accounts reset ${id}'; a wrong start is replaced when the window ends.`;

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}
