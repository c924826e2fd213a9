import type { AdmittedWork } from "../accounts/account-store.ts";
import type { Caller } from "../accounts/admission.ts";
import { discardBody } from "./body.ts";
import type { OperationId } from "./operations.ts";
import type { Reply } from "./reply.ts";
import type { Route } from "./router.ts";

/**
 * The operations that a store can start in the transaction that admits their request, because they call nothing but the
 * store, and whether they change something.
 */
const STORE_OPERATIONS: Readonly<Partial<Record<string, { readonly durable: boolean }>>> = {
  listOrders: { durable: false },
  cancelOrder: { durable: true },
} satisfies Partial<Record<OperationId, object>>;

/** The operation of a request, as work that a store can start. */
export interface WorkForStore extends AdmittedWork {
  /** The reply, if the store has started the work. */
  startedReply(): Promise<Reply> | undefined;
  /** Ends the body of the reply, if the store has started the work of a request that it then did not admit. */
  discard(): void;
}

/** The work of a route, or `undefined` if its operation must not start before the request is admitted. */
export function workForStore(
  route: Route,
  perform: (caller: Caller) => Promise<Reply>,
): WorkForStore | undefined {
  if (route.error !== undefined || "handle" in route.operation) return undefined;
  const kind = STORE_OPERATIONS[route.operation.id];
  if (kind === undefined) return undefined;
  let started: Promise<Reply> | undefined;
  return {
    durable: kind.durable,
    start(caller) {
      started = perform(caller);
      // If the transaction fails, the admission reports it.
      started.catch(() => {});
    },
    // A method, because an object with a getter takes microseconds to create.
    startedReply: () => started,
    discard: () => void started?.then(discardReply, () => {}),
  };
}

function discardReply(reply: Reply): void {
  if (reply.error === undefined && reply.body !== undefined) discardBody(reply.body);
}
