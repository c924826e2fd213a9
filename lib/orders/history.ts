import { randomBase62 } from "../core/base62.ts";
import { assertInstant, type Instant } from "../core/time.ts";
import type { OrderEvent, StoredOrder } from "./lifecycle.ts";

/** Who makes a change of an order. */
export interface ChangeOrigin {
  /** The identifier of an API key, which begins with its account, or the command of an operator, such as `orders ship`. */
  readonly by?: string | undefined;
  readonly requestId?: string | undefined;
}

/** A change of an order, as a store keeps it with the order. An event that leaves an order as it was is none. */
export interface OrderChange extends ChangeOrigin {
  readonly event: OrderEvent | "place";
  readonly at: Instant;
  /** Random: no change that takes this one's place after a restore has it. Missing in a change from before tokens. */
  readonly token?: string;
}

/** Other texts in the place of a token are from before: they were not random, and identify nothing. */
const TOKEN_CHARS = 10;

/** A change that is about to be stored. A change of several orders at once can be shared by them. */
export function newChange(event: OrderChange["event"], at: Instant, origin: ChangeOrigin = {}): OrderChange {
  return { event, at, token: randomBase62(TOKEN_CHARS), ...origin };
}

/** `<order>:<number>:<token>`, the same for ever. Numbers begin at 1. Without a token it is `<order>:<number>`. */
export function changeIdOf(orderId: bigint, number: number, { token }: OrderChange): string {
  return `${orderId}:${number}${token === undefined ? "" : `:${token}`}`;
}

/** An order with all its changes, the oldest first. No event changes an order twice. */
export interface OrderWithHistory extends StoredOrder {
  readonly history: readonly OrderChange[];
}

/** Never change one. The order of a history is the order here. In DynamoDB they are attributes, beside the outbox's. */
export const EVENT_LETTERS = {
  place: "p",
  cancel: "c",
  ship: "s",
  fulfil: "f",
} as const satisfies Readonly<Record<OrderChange["event"], string>>;

const EVENTS: ReadonlyMap<string, OrderChange["event"]> = /* @__PURE__ */ new Map(
  Object.entries(EVENT_LETTERS).map(([event, letter]) => [letter, event as OrderChange["event"]]),
);

/** The event of a letter. Throws for another one: to skip it would give the changes that follow other numbers. */
export function eventOf(letter: string): OrderChange["event"] {
  const event = EVENTS.get(letter);
  if (event === undefined)
    throw new Error(
      `It has an event '${letter}' that this version does not know. A newer one may have written it.`,
    );
  return event;
}

/** ASCII that ends with the only semicolon: `s1763640000000.4kTz0aQ9Lb,:ship;` is `ship` by the command `orders ship`. */
export function packChange(change: OrderChange): string {
  return `${EVENT_LETTERS[change.event]}${packDetails(change)};`;
}

/** Reads what `packChange` wrote, any number of times. Throws if it is something else. */
export function unpackChanges(text: string): readonly OrderChange[] {
  const changes = text.split(";");
  if (changes.pop() !== "") throw new Error("Its last change has no end.");
  return changes.map((change) => unpackDetails(eventOf(change.charAt(0)), change.slice(1)));
}

/**
 * A change without its event, as ASCII without semicolons: the instant in a base and, if there are any, a dot and the
 * token, a comma and who made it, a comma and the request.
 */
export function packDetails({ at, token, by = "", requestId = "" }: OrderChange, base = 10): string {
  const instant = assertInstant(at, "at").toString(base);
  const command = encodeURIComponent(by.toWellFormed()).replace(/^orders%20/, ":");
  const origin = `,${command},${encodeURIComponent(requestId)}`.replace(/,+$/, "");
  return `${instant}${token === undefined ? "" : `.${token}`}${origin}`;
}

/** The greatest distance from 1970 of an instant that has a date. */
const MAX_INSTANT_MS = 8_640_000_000_000_000;

/** Reads what `packDetails` wrote. Throws if it is something else. */
export function unpackDetails(event: OrderChange["event"], text: string, base = 10): OrderChange {
  const [start = "", by = "", requestId = ""] = text.split(",");
  const [instant = "", token = ""] = start.split(".");
  const at = Number.parseInt(instant, base);
  // Digits that are followed by something else are parsed, too.
  if (at.toString(base) !== instant || !(Math.abs(at) <= MAX_INSTANT_MS))
    throw new Error(`The instant of '${event}' is no number of milliseconds.`);
  return {
    ...{ event, at },
    ...(token.length === TOKEN_CHARS && { token }),
    ...(by && { by: decodeURIComponent(by.replace(/^:/, "orders ")) }),
    ...(requestId && { requestId: decodeURIComponent(requestId) }),
  };
}
