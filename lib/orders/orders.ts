import {
  assertOptions,
  type Failure,
  InvalidInputError,
  invalidInput,
  StoreUnavailableError,
} from "../core/errors.ts";
import { type HookErrorReporter, logHookError } from "../core/hooks.ts";
import { type Clock, systemClock, wholeClock } from "../core/time.ts";
import type { OrderWithHistory } from "./history.ts";
import { isInt64 } from "./int64.ts";
import type { OrderEvent } from "./lifecycle.ts";
import type { OrderRecord } from "./order.ts";
import type { OrderQuery, OrderQueryPage } from "./order-query.ts";
import type { ApplyResult, OrderStore } from "./order-store.ts";
import { announce, type TransitionHook } from "./transition-hook.ts";
import { parseOrder } from "./wire.ts";

/** An order to place. Without `id`, an identifier is generated. */
export type NewOrder = Omit<OrderRecord, "id"> & { readonly id?: bigint };

/** `created` is false if the same order existed; `order_conflict` means that a different order has this `id`. */
export type PlacedOrder =
  | { readonly ok: true; readonly created: boolean; readonly record: OrderRecord }
  | (Failure<"order_conflict"> & { readonly id: bigint });

/** Operations on single orders, with one for each event. Each rejects with `StoreUnavailableError` or `InvalidInputError`. */
export interface Orders extends Readonly<{ [E in OrderEvent]: (id: bigint) => Promise<ApplyResult<E>> }> {
  find(id: bigint): Promise<OrderWithHistory | undefined>;
  /** Returns a page of orders, by status and direction. Its `next` is the `after` of the next page. */
  page(query: OrderQuery): Promise<OrderQueryPage>;
  place(order: NewOrder): Promise<PlacedOrder>;
  /** Marks a pending order as shipped, and sets `shipDate` to the current time. */
  ship(id: bigint): Promise<ApplyResult<"ship">>;
  /** Marks a shipped order as complete. Its status stays `shipped`. */
  fulfil(id: bigint): Promise<ApplyResult<"fulfil">>;
  cancel(id: bigint): Promise<ApplyResult<"cancel">>;
}

/** Options of the order operations. */
export interface OrdersOptions {
  readonly store: OrderStore;
  /** Returns the current time. @default the system clock */
  readonly clock?: Clock;
  /** Who makes the changes, for their history, such as a program. At most 100 characters. @default nobody */
  readonly by?: string;
  /** At most once, when the change is durable. For what must not be lost, use `deliverChanges`. @default none */
  readonly onTransition?: TransitionHook;
  /** Called with each error of `onTransition`. @default writes a line to the console */
  readonly onHookError?: HookErrorReporter;
}

/** The history is stored with the order, which is read as a whole. */
const MAX_BY_CHARS = 100;

/** Creates the order operations over a store. Throws `InvalidInputError` if an option is invalid. */
export function createOrders(options: OrdersOptions): Orders {
  assertOptions(options, ["store", "clock", "by", "onTransition", "onHookError"]);
  const { store, clock: givenClock = systemClock, by, onTransition, onHookError = logHookError } = options;
  const clock = wholeClock(givenClock);
  const listener = onTransition && { onTransition, onHookError };
  const origin = by === undefined ? {} : { by };
  if (by !== undefined && by.length > MAX_BY_CHARS)
    throw invalidInput("by", `Use at most ${MAX_BY_CHARS} characters.`);

  async function apply<E extends OrderEvent>(id: bigint, event: E): Promise<ApplyResult<E>> {
    if (!isInt64(id)) return { ok: false, code: "order_not_found" };
    const result = await store.apply(id, event, clock(), origin);
    if (listener && result.ok) await announce(listener, event, result.order);
    return result;
  }

  return {
    page: (query) => store.page(query),

    find: async (id) => (isInt64(id) ? store.find(id) : undefined),

    async place(order) {
      for (let attempt = 0; attempt < MAX_GENERATED_IDS; attempt++) {
        const parsed = parseOrder(lacksId(order) ? { ...order, id: newOrderId(clock() + attempt) } : order);
        if (!parsed.ok) throw new InvalidInputError(parsed.issues);
        const { record, status } = parsed.order;
        // A body that a caller has sent is often passed as it is.
        if (status !== "pending")
          throw invalidInput("status", "A new order is pending. Leave the status out.");
        const [outcome] = await store.place([parsed.order], clock(), origin);
        // Another order already has the generated identifier, so generate one of the next millisecond.
        if (lacksId(order) && outcome !== "placed") continue;
        if (outcome === "conflict") return { ok: false, code: "order_conflict", id: record.id };
        if (listener && outcome === "placed") await announce(listener, "place", parsed.order);
        return { ok: true, created: outcome === "placed", record };
      }
      throw new StoreUnavailableError("The store has an order for each generated identifier.");
    },
    ship: (id) => apply(id, "ship"),
    fulfil: (id) => apply(id, "fulfil"),
    cancel: (id) => apply(id, "cancel"),
  };
}

/** A body that a caller has sent can be a list, or no object at all. */
function lacksId(order: NewOrder): boolean {
  return typeof order === "object" && order !== null && !Array.isArray(order) && order.id === undefined;
}

/** The number of identifiers that are generated for one order. A store that rejects them all does not work. */
const MAX_GENERATED_IDS = 100;

const EPOCH = Date.UTC(2020, 0);

/** Milliseconds since 2020 and 12 random bits: ascending, and below 2^53 for clients that read integers as doubles. */
function newOrderId(now: number): bigint {
  return BigInt(now - EPOCH) * 4096n + BigInt(Math.floor(Math.random() * 4096));
}
