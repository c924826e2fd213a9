import type { Clock } from "../clock.ts";
import { toInt64Json } from "../orders/int64.ts";
import type { OrderStore } from "../orders/order-store.ts";
import { toWebBody } from "./body.ts";
import { acceptsGzip, gzipped } from "./gzip.ts";
import type { OperationCall, ParameterValues } from "./operation-call.ts";
import type { OPERATIONS } from "./operations.ts";
import { orderList } from "./order-stream.ts";
import type { Reply } from "./reply.ts";

/** Reads a pet for the deprecated `GET /v1/pets/{petId}`. Returns `undefined` if there is none. */
export type PetSource = (petId: bigint) => Promise<object | undefined>;

/** The implementation of every operation of the service. */
export type OperationHandlers = {
  readonly [O in (typeof OPERATIONS)[number] as O["id"]]: (
    call: OperationCall<O extends { readonly parameters: infer P } ? ParameterValues<P> : object>,
  ) => Promise<Reply>;
};

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
      // Nobody reads the body of a HEAD, and compressing it would read pages.
      const isHead = request.method === "HEAD";
      return {
        status: 200,
        body: isHead ? body : gzipped(toWebBody(body)),
        ended,
        headers: { ...headers, "content-encoding": "gzip" },
      };
    },

    async cancelOrder({ parameters: { orderId } }) {
      const result = await orders.apply(orderId, "cancel", clock());
      if (!result.ok) return { error: result.code };
      return { status: 204, change: { event: "cancel", order: result.order } };
    },

    async getPet({ parameters: { petId } }) {
      const pet = await pets(petId);
      return pet === undefined ? { error: "pet_not_found" } : { status: 200, body: toInt64Json(pet) };
    },
  };
}
