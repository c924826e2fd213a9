import type { Clock } from "../clock.ts";
import { parseInt64, toInt64Json } from "../orders/int64.ts";
import type { OrderStore } from "../orders/order-store.ts";
import { acceptsGzip, gzipped } from "./gzip.ts";
import type { OperationId } from "./operations.ts";
import { orderList } from "./order-stream.ts";
import type { RequestHead } from "./plain-response.ts";
import type { Reply } from "./reply.ts";

/** Reads a pet for the deprecated `GET /v1/pets/{petId}`. Returns `undefined` if there is none. */
export type PetSource = (petId: bigint) => Promise<object | undefined>;

/** An admitted request, as an operation receives it. */
export interface OperationRequest {
  readonly request: RequestHead;
  /** The decoded path parameter. Empty for an operation without one. */
  readonly parameter: string;
}

/** The implementation of every operation. */
export type OperationHandlers = Readonly<Record<OperationId, (request: OperationRequest) => Promise<Reply>>>;

/** Shorter bodies are not compressed. */
const MIN_GZIP_CHARS = 1_024;

/** Creates the operations over a store, a clock and a source of pets. */
export function createOperationHandlers(
  orders: OrderStore,
  clock: Clock,
  pets: PetSource,
): OperationHandlers {
  return {
    async listOrders({ request }) {
      const { body, ended } = await orderList(orders.list());
      const headers = { vary: "accept-encoding" };
      const isShort = typeof body === "string" && body.length < MIN_GZIP_CHARS;
      if (isShort || !acceptsGzip(request.headers.get("accept-encoding"))) {
        return { status: 200, body, ended, headers };
      }
      return { status: 200, body: gzipped(body), ended, headers: { ...headers, "content-encoding": "gzip" } };
    },

    async cancelOrder({ parameter }) {
      const orderId = parseInt64(parameter);
      if (orderId === undefined) return { error: "order_not_found" };
      const result = await orders.apply(orderId, "cancel", clock());
      return result.ok ? { status: 204 } : { error: result.code };
    },

    async getPet({ parameter }) {
      const petId = parseInt64(parameter);
      const pet = petId === undefined ? undefined : await pets(petId);
      return pet === undefined ? { error: "pet_not_found" } : { status: 200, body: toInt64Json(pet) };
    },
  };
}
