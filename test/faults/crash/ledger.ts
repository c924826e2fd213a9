import {
  type OrderEvent,
  type OrderStatus,
  type StoredOrder,
  transition,
} from "../../../lib/orders/lifecycle.ts";
import { toLine } from "../../../lib/orders/wire.ts";

/** The requested and the acknowledged changes of orders, which determine the allowed states after a crash. */
export interface Ledger {
  /** An order was submitted. It may or may not be stored. */
  submitted(order: StoredOrder): void;
  /** The order was acknowledged as placed. */
  placed(id: bigint): void;
  /** An event was submitted, for the instant `instantOf` the order. */
  requested(id: bigint, event: OrderEvent): void;
  /** A response has shown the order in this state. */
  observed(id: bigint, status: OrderStatus, complete?: boolean): void;
  /** Explains why the order that was found is not allowed. `undefined` if it is allowed. */
  violation(id: bigint, found: StoredOrder | undefined): string | undefined;
  /** Every submitted identifier. */
  ids(): Iterable<bigint>;
}

/** The instant of every event of an order. It follows from the identifier, so the resulting record is known exactly. */
export function instantOf(id: bigint): number {
  return Date.UTC(2026, 0) + Number(id) * 1_000;
}

interface Entry {
  readonly before: StoredOrder;
  readonly requested: Set<OrderEvent>;
  /** The latest acknowledged form. */
  known: StoredOrder | undefined;
  contradiction?: string;
}

/** Creates an empty ledger. */
export function createLedger(): Ledger {
  const entries = new Map<bigint, Entry>();

  function entryOf(id: bigint): Entry {
    const entry = entries.get(id);
    if (entry === undefined) throw new Error(`Order ${id} was never submitted.`);
    return entry;
  }

  /** Every form that an order can reach through the given events. */
  function possibleForms(from: StoredOrder, events: Iterable<OrderEvent>): readonly StoredOrder[] {
    const forms = new Map([[toLine(from), from]]);
    for (const form of forms.values()) {
      for (const event of events) {
        const result = transition(form, event, instantOf(form.record.id));
        if (result.ok) forms.set(toLine(result.order), result.order);
      }
    }
    return [...forms.values()];
  }

  return {
    ids: () => entries.keys(),
    submitted(order) {
      entries.set(order.record.id, { before: order, requested: new Set(), known: undefined });
    },

    placed(id) {
      const entry = entryOf(id);
      entry.known ??= entry.before;
    },

    requested(id, event) {
      entryOf(id).requested.add(event);
    },

    observed(id, status, complete = false) {
      const entry = entryOf(id);
      const matches = (form: StoredOrder) =>
        form.status === status && (!complete || form.record.complete === true);
      if (entry.known !== undefined && matches(entry.known)) return;
      const next = possibleForms(entry.known ?? entry.before, entry.requested).find(matches);
      if (next === undefined) {
        const known = entry.known === undefined ? "nothing" : toLine(entry.known);
        entry.contradiction ??= `order ${id}: observed as ${status} after ${known}`;
      } else {
        entry.known = next;
      }
    },

    violation(id, found) {
      const entry = entries.get(id);
      if (entry === undefined) return `order ${id}: was never submitted`;
      const { before, known, requested, contradiction } = entry;
      if (contradiction !== undefined) return contradiction;
      if (found === undefined) return known === undefined ? undefined : `order ${id}: lost`;
      const allowed = possibleForms(known ?? before, requested).map(toLine);
      if (allowed.includes(toLine(found))) return undefined;
      return `order ${id}: found ${toLine(found)}, allowed ${allowed.join(" or ")}`;
    },
  };
}
