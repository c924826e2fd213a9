import {
  type OrderEvent,
  type OrderStatus,
  type StoredOrder,
  transition,
} from "../../../lib/orders/lifecycle.ts";
import { toLine } from "../../../lib/orders/wire.ts";

/** What was asked of orders and what was acknowledged, from which follows how each may look after a crash. */
export interface Ledger {
  /** An order was handed over to be placed, and may be there or not. */
  handedOver(order: StoredOrder): void;
  /** It was acknowledged as placed. */
  placed(id: bigint): void;
  /** An event was handed over, to happen at `instantOf` the order. */
  asked(id: bigint, event: OrderEvent): void;
  /** The order was told to be in this state, `complete` or not known to be. */
  told(id: bigint, status: OrderStatus, complete?: boolean): void;
  /** What is wrong with the order that was found under an identifier; nothing, if all is as it may be. */
  objection(id: bigint, found: StoredOrder | undefined): string | undefined;
  /** Every identifier that was handed over. */
  ids(): Iterable<bigint>;
}

/** Every event of an order happens at an instant that its identifier gives, so that its record is known exactly. */
export function instantOf(id: bigint): number {
  return Date.UTC(2026, 0) + Number(id) * 1_000;
}

interface Entry {
  readonly before: StoredOrder;
  readonly asked: Set<OrderEvent>;
  /** The furthest form that was acknowledged. */
  known: StoredOrder | undefined;
  contradiction?: string;
}

/** Begins with nothing. */
export function openLedger(): Ledger {
  const entries = new Map<bigint, Entry>();

  function entryOf(id: bigint): Entry {
    const entry = entries.get(id);
    if (entry === undefined) throw new Error(`Order ${id} was never handed over.`);
    return entry;
  }

  /** Every form that an order can take from one on, by the events that were asked for. */
  function futures(from: StoredOrder, events: Iterable<OrderEvent>): readonly StoredOrder[] {
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
    handedOver(order) {
      entries.set(order.record.id, { before: order, asked: new Set(), known: undefined });
    },

    placed(id) {
      const entry = entryOf(id);
      entry.known ??= entry.before;
    },

    asked(id, event) {
      entryOf(id).asked.add(event);
    },

    told(id, status, complete = false) {
      const entry = entryOf(id);
      const wanted = (form: StoredOrder) =>
        form.status === status && (!complete || form.record.complete === true);
      if (entry.known !== undefined && wanted(entry.known)) return;
      const next = futures(entry.known ?? entry.before, entry.asked).find(wanted);
      if (next === undefined) {
        const known = entry.known === undefined ? "nothing" : toLine(entry.known);
        entry.contradiction ??= `order ${id}: told ${status} after ${known}`;
      } else {
        entry.known = next;
      }
    },

    objection(id, found) {
      const entry = entries.get(id);
      if (entry === undefined) return `order ${id}: nobody placed it`;
      const { before, known, asked, contradiction } = entry;
      if (contradiction !== undefined) return contradiction;
      if (found === undefined) return known === undefined ? undefined : `order ${id}: lost`;
      const allowed = futures(known ?? before, asked).map(toLine);
      if (allowed.includes(toLine(found))) return undefined;
      return `order ${id}: found ${toLine(found)}, allowed ${allowed.join(" or ")}`;
    },
  };
}
