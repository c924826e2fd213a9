import { type Clock, systemClock } from "../clock.ts";
import { type Failure, InvalidInputError } from "../errors.ts";
import type { OrderRecord } from "./order.ts";
import type { AppliedEvent, OrderStore } from "./order-store.ts";
import { parseOrder } from "./parse-order.ts";

/** An order to place. Without `id`, an identifier is generated. */
export type NewOrder = Omit<OrderRecord, "id"> & { readonly id?: bigint };

/** The result of placing an order. `created` is false if the same order already existed. */
export type PlacedOrder =
  | { readonly ok: true; readonly created: boolean; readonly record: OrderRecord }
  | (Failure<"order_conflict"> & { readonly record: OrderRecord });

/** Order operations other than listing. */
export interface Orders {
  /** Places a pending order. Throws `InvalidInputError` with every issue. */
  place(order: NewOrder): Promise<PlacedOrder>;
  /** Marks a pending order as shipped now. */
  ship(id: bigint): Promise<AppliedEvent<"ship">>;
  /** Marks a shipped order as complete. */
  fulfil(id: bigint): Promise<AppliedEvent<"fulfil">>;
  /** Cancels a pending order. */
  cancel(id: bigint): Promise<AppliedEvent<"cancel">>;
}

/** Creates the order operations over a store. */
export function createOrders({ store, clock = systemClock }: { store: OrderStore; clock?: Clock }): Orders {
  return {
    async place(order) {
      for (;;) {
        const parsed = parseOrder({ ...order, id: order.id ?? newOrderId(clock()) });
        if (!parsed.ok) throw new InvalidInputError(parsed.issues);
        const { record } = parsed.order;
        const [outcome] = await store.place([parsed.order]);
        // A generated identifier that already exists is replaced by another one.
        if (order.id === undefined && outcome !== "placed") continue;
        if (outcome === "conflict") return { ok: false, code: "order_conflict", record };
        return { ok: true, created: outcome === "placed", record };
      }
    },
    ship: (id) => store.apply(id, "ship", clock()),
    fulfil: (id) => store.apply(id, "fulfil", clock()),
    cancel: (id) => store.apply(id, "cancel", clock()),
  };
}

const EPOCH = Date.UTC(2020, 0);

/**
 * Milliseconds since 2020 and 12 random bits: ascending, unique without a shared counter, and below 2^53 so that
 * clients that read integers as doubles keep every digit.
 */
function newOrderId(now: number): bigint {
  return BigInt(now - EPOCH) * 4096n + BigInt(Math.floor(Math.random() * 4096));
}
