import type { Instant } from "../core/time.ts";
import type { OrderEvent, StoredOrder } from "./lifecycle.ts";

/** Who makes a change of an order. */
export interface ChangeOrigin {
  /** The identifier of an API key, which begins with its account, or the command of an operator, such as `orders ship`. */
  readonly by?: string | undefined;
  /** The identifier of the HTTP request, if there is one. */
  readonly requestId?: string | undefined;
}

/** A change of an order, as a store keeps it with the order. An event that leaves an order as it was is none. */
export interface OrderChange extends ChangeOrigin {
  readonly event: OrderEvent | "place";
  readonly at: Instant;
}

/** An order with all its changes, the oldest first. There are at most three, because no event changes an order twice. */
export interface OrderWithHistory extends StoredOrder {
  readonly history: readonly OrderChange[];
}

const EVENTS = { p: "place", c: "cancel", s: "ship", f: "fulfil" } as const;

/**
 * A change as ASCII text, to be appended to the text of the changes before it. It ends with the only semicolon:
 * `s1763640000000,:ship;` is `ship` by the command `orders ship`.
 */
export function packChange({ event, at, ...origin }: OrderChange): string {
  return `${event[0]}${Math.trunc(at)}${packOrigin(origin)};`;
}

/** False for the one event that leaves an order as it was: to fulfil it again. That is no change. */
export function isChange({ record }: StoredOrder, event: OrderEvent): boolean {
  return event !== "fulfil" || record.complete !== true;
}

/** Reads what `packChange` wrote, any number of times. */
export function unpackChanges(text: string): readonly OrderChange[] {
  return [...text.matchAll(/([pcsf])(-?\d+)([^;]*);/g)].map(([, letter, at, origin = ""]) => ({
    event: EVENTS[letter as keyof typeof EVENTS],
    at: Number(at),
    ...unpackOrigin(origin),
  }));
}

/** The events of the changes that `packChange` wrote: a fifth of the time that `unpackChanges` takes. */
export function unpackEvents(text: string): readonly OrderChange["event"][] {
  const changes = text.split(";");
  changes.pop();
  return changes.map((change) => EVENTS[change[0] as keyof typeof EVENTS]);
}

/** An origin as ASCII text that is empty or begins with a comma, without semicolons. */
export function packOrigin({ by = "", requestId = "" }: ChangeOrigin): string {
  const command = encodeURIComponent(by.toWellFormed()).replace(/^orders%20/, ":");
  return `,${command},${encodeURIComponent(requestId)}`.replace(/,+$/, "");
}

/** Reads what `packOrigin` wrote. */
export function unpackOrigin(text: string): ChangeOrigin {
  const [, by = "", requestId = ""] = text.split(",");
  return {
    ...(by && { by: decodeURIComponent(by.replace(/^:/, "orders ")) }),
    ...(requestId && { requestId: decodeURIComponent(requestId) }),
  };
}
