import { type Failure, invalidInput } from "./errors.ts";

/** `to` is the next status, `error` the code if the event is not allowed. A move returns any other field. */
export type LifecycleRule<Status extends string = string> =
  | { readonly to: Status; readonly error?: undefined }
  | { readonly error: string; readonly to?: undefined };

/** The rules by status, then by event. An event that a status does not name fails with `cannot_<event>_<status>`. */
export type LifecycleTable<Status extends string = string> = {
  readonly [S in Status]: { readonly [event: string]: LifecycleRule<Status> };
};

// With `Extract`, the messages of the compiler list the names.
type StatusIn<Table> = Extract<keyof Table, string>;

type EventIn<Table> = Extract<{ [S in keyof Table]: keyof Table[S] }[keyof Table], string>;

type RuleOf<Table, Event extends string> = {
  [S in StatusIn<Table>]: Event extends keyof Table[S]
    ? Table[S][Event]
    : { readonly error: `cannot_${Event}_${S}` };
}[StatusIn<Table>];

type CodeIn<Table, Event extends string> = {
  [S in StatusIn<Table>]: Event extends keyof Table[S] ? CodeOf<Table[S][Event]> : `cannot_${Event}_${S}`;
}[StatusIn<Table>];

type CodeOf<Rule> = Rule extends { readonly error: infer Code extends string } ? Code : never;

/** A life cycle that `defineLifecycle` returns. Its functions are pure. */
export interface Lifecycle<Table> {
  readonly table: Table;
  readonly statuses: readonly StatusIn<Table>[];
  readonly events: readonly EventIn<Table>[];
  /** True for a status of the table. A database that somebody has edited can hold another one. */
  isStatus(status: unknown): status is StatusIn<Table>;
  isEvent(event: unknown): event is EventIn<Table>;
  /** True if the status accepts the event. False for a status or an event that the table does not have. */
  acceptsEvent(status: StatusIn<Table>, event: EventIn<Table>): boolean;
  /** Throws `InvalidInputError` for a status or an event that the table does not have. */
  transition<Event extends EventIn<Table>>(
    status: StatusIn<Table>,
    event: Event,
  ): LifecycleResult<Table, Event>;
  /** The codes with which an event can fail, such as for the `errors` of an operation of your own. */
  codesOf<Event extends EventIn<Table>>(event: Event): readonly CodeIn<Table, Event>[];
  /** The same codes, each with a sentence that says why. */
  errorsOf<Event extends EventIn<Table>>(event: Event): Readonly<Record<CodeIn<Table, Event>, string>>;
  explain(failed: { readonly status: StatusIn<Table>; readonly event: EventIn<Table> }): string;
}

type Move<Table, Event extends string> = Extract<RuleOf<Table, Event>, { readonly to: string }>;

/** Each move, with the fields that only others of its event have as `undefined`: so every field can be asked for. */
type WithFieldsOf<All, Each = All> = Each extends unknown
  ? Each & { readonly [Field in Exclude<KeyOf<All>, keyof Each>]?: undefined }
  : never;
type KeyOf<Each> = Each extends unknown ? keyof Each : never;

/** The result of an event: the rule of the table, whose `to` is the next status, or why nothing changes. */
export type LifecycleResult<Table, Event extends string> =
  | ({ readonly ok: true } & WithFieldsOf<Move<Table, Event>>)
  | (Failure<CodeIn<Table, Event>> & {
      readonly status: StatusIn<Table>;
      readonly event: Event;
    });

/** The statuses of a life cycle: `StatusOf<typeof shop>`. */
export type StatusOf<L> = L extends Lifecycle<infer Table> ? StatusIn<Table> : never;

/** The events of a life cycle: `EventOf<typeof shop>`. */
export type EventOf<L> = L extends Lifecycle<infer Table> ? EventIn<Table> : never;

/**
 * Defines a life cycle. Each status is a row of the table, also one in which nothing happens any more:
 *
 * ```ts
 * const shop = defineLifecycle({
 *   paid: { pack: { to: "packed" }, cancel: { to: "cancelled", refund: true } },
 *   packed: { cancel: { error: "already_packed" } },
 *   cancelled: {},
 * });
 * shop.transition("packed", "cancel"); // { ok: false, code: "already_packed", status: "packed", event: "cancel" }
 * ```
 *
 * Throws `InvalidInputError`, with the path, if a rule leads to a status that has no row, or something is no rule.
 */
export function defineLifecycle<const Table extends LifecycleTable<StatusIn<Table>>>(
  table: Table,
): Lifecycle<Table> {
  const rows: LifecycleTable = table;
  assertTable(rows);
  const statuses = Object.keys(rows);
  const events = eventsOf(rows);
  const acceptsEvent = (status: string, event: string) =>
    statuses.includes(status) && events.includes(event) && !ruleOf(rows, status, event).error;
  const explain = (found: readonly string[], event: string) => {
    const accepting = statuses.filter((status) => acceptsEvent(status, event));
    const which = accepting.length > 0 ? `only ${accepting.join(" or ")}` : "no";
    return `The order is ${found.join(" or ")}; ${which} orders accept '${event}'.`;
  };
  const errorsOf = (event: string) => {
    assertOneOf(events, event, "event");
    const codes = new Set(statuses.flatMap((status) => ruleOf(rows, status, event).error || []));
    const found = (code: string) => statuses.filter((status) => ruleOf(rows, status, event).error === code);
    return Object.fromEntries([...codes].map((code) => [code, explain(found(code), event)]));
  };
  const lifecycle: Lifecycle<LifecycleTable> = {
    ...{ table: rows, statuses, events, acceptsEvent },
    isStatus: (status): status is string => statuses.includes(status as string),
    isEvent: (event): event is string => events.includes(event as string),
    transition: (status, event) => applyRule(rows, status, event) as never,
    codesOf: (event) => Object.keys(errorsOf(event)) as never,
    errorsOf: (event) => errorsOf(event) as never,
    explain: ({ status, event }) => explain([status], event),
  };
  return lifecycle as unknown as Lifecycle<Table>;
}

/** For a page that needs nothing else of a life cycle. Throws `InvalidInputError` for an unknown status or event. */
export function applyRule(
  table: LifecycleTable,
  status: string,
  event: string,
): LifecycleResult<LifecycleTable, string> {
  assertOneOf(Object.keys(table), status, "status");
  assertOneOf(eventsOf(table), event, "event");
  const rule = ruleOf(table, status, event);
  if (rule.error) return { ok: false, code: rule.error, status, event };
  return { ...(rule as LifecycleRule & { readonly to: string }), ok: true };
}

/** For programs without types, whose mistake would otherwise be found by the first event. */
function assertTable(table: LifecycleTable): void {
  const isRecord = (value: unknown) => typeof value === "object" && value !== null && !Array.isArray(value);
  if (!isRecord(table)) throw invalidInput("", "Give a table of rules, by status and event.");
  for (const [status, row] of Object.entries(table)) {
    if (!isRecord(row)) throw invalidInput(status, "Give its rules by event; {} if it accepts none.");
    for (const [event, rule] of Object.entries(row)) {
      const path = `${status}.${event}`;
      const { error, to } = Object(rule) as LifecycleRule;
      const isRule = isRecord(rule) && (error === undefined) !== (to === undefined);
      if (!isRule || !["undefined", "string"].includes(typeof error) || error === "")
        throw invalidInput(path, "Give { to: <status> } or { error: <code> }.");
      if (error === undefined) assertOneOf(Object.keys(table), to, `${path}.to`);
    }
  }
}

function eventsOf(table: LifecycleTable): readonly string[] {
  return [...new Set(Object.values(table).flatMap(Object.keys))];
}

function ruleOf(table: LifecycleTable, status: string, event: string): LifecycleRule {
  const row = table[status] as LifecycleTable[string];
  return (Object.hasOwn(row, event) && row[event]) || { error: `cannot_${event}_${status}` };
}

function assertOneOf(names: readonly string[], name: unknown, path: string): void {
  if (!names.includes(name as string)) throw invalidInput(path, `Use one of: ${names.join(", ")}.`);
}
