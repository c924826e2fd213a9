import { type Clock, systemClock } from "../clock.ts";
import { InvalidInputError } from "../errors.ts";
import type { Transition } from "./lifecycle.ts";
import { type OrderRecord, parseOrder } from "./order.ts";
import type { OrderStore, PlaceOutcome } from "./order-store.ts";

/** What an order is placed with; an identifier is made where none is given. */
export type NewOrder = Omit<OrderRecord, "id"> & { readonly id?: bigint };

/** The use cases of orders over a store: what a shop does with them besides listing. */
export interface Orders {
  /** Places a pending order. Throws `InvalidInputError` with every issue. */
  place(order: NewOrder): Promise<{ readonly outcome: PlaceOutcome; readonly record: OrderRecord }>;
  /** Marks a pending order as shipped, now. `undefined`: no such order. */
  ship(id: bigint): Promise<Transition | undefined>;
  /** Marks a shipped order as complete. */
  fulfil(id: bigint): Promise<Transition | undefined>;
  /** Cancels a pending order. */
  cancel(id: bigint): Promise<Transition | undefined>;
}

/** Binds the use cases to a store and a clock. */
export function createOrders({ store, clock = systemClock }: { store: OrderStore; clock?: Clock }): Orders {
  return {
    async place(order) {
      for (;;) {
        const parsed = parseOrder({
          ...order,
          id: order.id ?? newOrderId(clock()),
        });
        if ("issues" in parsed) throw new InvalidInputError(parsed.issues);
        const [outcome = "conflict"] = await store.place([parsed.order]);
        const clash = order.id === undefined && outcome !== "placed";
        if (!clash) return { outcome, record: parsed.order.record };
      }
    },
    ship: (id) => store.apply(id, "ship", clock()),
    fulfil: (id) => store.apply(id, "fulfil", clock()),
    cancel: (id) => store.apply(id, "cancel", clock()),
  };
}

const EPOCH = Date.UTC(2020, 0);

/**
 * Milliseconds since 2020 and 12 random bits: rising, unique without a counter that every process would share,
 * and small enough for a client that reads integers as doubles. A clash is seen by the store, and another is drawn.
 */
function newOrderId(now: number): bigint {
  return BigInt(now - EPOCH) * 4096n + BigInt(Math.floor(Math.random() * 4096));
}
