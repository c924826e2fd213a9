import type { Clock } from "../clock.ts";
import { parseInt64, toInt64Json } from "../orders/int64.ts";
import type { OrderStore } from "../orders/order-store.ts";
import { acceptsGzip, gzipped } from "./gzip.ts";
import type { OperationId } from "./operations.ts";
import { orderList } from "./order-stream.ts";
import type { Reply } from "./reply.ts";

/** Reads a pet for the deprecated `GET /v1/pets/{petId}`; `undefined` where there is none (decision 17). */
export type PetSource = (petId: bigint) => Promise<object | undefined>;

/** What an operation gets of a request that was let in. */
export interface OperationRequest {
  /** The identifier in the path, as it was sent. */
  readonly argument: string | undefined;
  readonly request: Request;
}

/** What every operation does. */
export type OperationHandlers = Readonly<Record<OperationId, (call: OperationRequest) => Promise<Reply>>>;

/** Below this many characters a compressed answer is not worth its header. */
const MIN_COMPRESSED_CHARS = 1_024;

/** Binds the operations to a store, a clock and a source of pets. */
export function createOperationHandlers(
  orders: OrderStore,
  clock: Clock,
  pets: PetSource,
): OperationHandlers {
  return {
    async listOrders({ request }) {
      const { body, ended } = await orderList(orders.list());
      const headers = { vary: "accept-encoding" };
      const small = typeof body === "string" && body.length < MIN_COMPRESSED_CHARS;
      if (small || !acceptsGzip(request.headers.get("accept-encoding")))
        return { status: 200, body, ended, headers };
      return { status: 200, body: gzipped(body), ended, headers: { ...headers, "content-encoding": "gzip" } };
    },

    async cancelOrder({ argument = "" }) {
      const id = parseInt64(argument);
      const result = id === undefined ? undefined : await orders.apply(id, "cancel", clock());
      if (result === undefined) return { error: "order_not_found" };
      return result.moved ? { status: 204 } : { error: result.refused };
    },

    async getPet({ argument = "" }) {
      const id = parseInt64(argument);
      const pet = id === undefined ? undefined : await pets(id);
      return pet === undefined ? { error: "pet_not_found" } : { status: 200, body: toInt64Json(pet) };
    },
  };
}
