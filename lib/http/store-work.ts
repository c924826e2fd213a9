import type { AdmittedWork } from "../accounts/account-store.ts";
import type { OperationId } from "./operations.ts";
import type { Reply } from "./reply.ts";
import type { Route } from "./router.ts";

/**
 * The operations that a store can begin in the transaction that admits their request, because they only call the store,
 * and whether they change something.
 */
const STORE_OPERATIONS: Readonly<Partial<Record<string, { readonly durable: boolean }>>> = {
  listOrders: { durable: false },
  cancelOrder: { durable: true },
} satisfies Partial<Record<OperationId, object>>;

/** The operation of a request, as work that a store can begin. */
export interface StoreWork extends AdmittedWork {
  /** The reply, if the store has begun the work. */
  reply(): Promise<Reply> | undefined;
}

/** The work of a route, or `undefined` if its operation must not begin before the request is admitted. */
export function storeWork(route: Route, perform: () => Promise<Reply>): StoreWork | undefined {
  if (route.error !== undefined || "handle" in route.operation) return undefined;
  const kind = STORE_OPERATIONS[route.operation.id];
  if (kind === undefined) return undefined;
  let reply: Promise<Reply> | undefined;
  return {
    durable: kind.durable,
    start() {
      reply = perform();
      // If the transaction fails, the admission reports it.
      reply.catch(() => {});
    },
    reply: () => reply,
  };
}
