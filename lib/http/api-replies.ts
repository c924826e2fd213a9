import type { Caller } from "../accounts/admission.ts";
import type { Clock } from "../clock.ts";
import { logHookError } from "../hooks.ts";
import { announceEvent } from "../orders/transition-hook.ts";
import type { Access, AccessControl } from "./access.ts";
import type { HandlerOptions } from "./handler-options.ts";
import { createOperationHandlers } from "./operation-handlers.ts";
import type { Operation } from "./operations.ts";
import { createPerformer } from "./perform-operation.ts";
import type { RequestHead } from "./plain-response.ts";
import { failureReply, type Outcome } from "./response.ts";
import { createRouter } from "./router.ts";
import { workForStore } from "./work-for-store.ts";

/** A request to the API. */
export interface ApiRequest {
  readonly request: RequestHead;
  /** The path below the base path. */
  readonly path: string;
  /** The IP address of the caller. */
  readonly address: string;
  readonly requestId: string;
}

/** Creates the API: a function that admits a request, and then performs its operation. */
export function createApiReplies(
  { store, pets = async () => undefined, onTransition, onHookError = logHookError }: HandlerOptions,
  {
    operations,
    accessControl,
    clock,
  }: { operations: readonly Operation[]; accessControl: AccessControl; clock: Clock },
): (apiRequest: ApiRequest) => Promise<Outcome> {
  const listener = onTransition && { onTransition, onHookError };
  const handlers = createOperationHandlers(store.orders, clock, pets);
  const performOperation = createPerformer(operations, handlers, clock);
  const findRoute = createRouter(operations);

  return async ({ request, path, address, requestId }) => {
    // The route is found first, because the store may start its operation while it admits the request. If there is
    // none, only an admitted caller learns that: any other one gets the reply of the access control.
    const route = findRoute(request.method, path);
    const matched = route.error === undefined ? { operation: route.operation } : {};
    const perform = (caller: Caller) => performOperation(route, { request, requestId, caller });
    const work = workForStore(route, perform);
    let access: Access | undefined;
    try {
      access = await accessControl.admit(request.headers.get("authorization"), address, work);
      if (!access.ok) return { ...matched, ...access };
      const { quota, caller } = access;
      // Either the store has started the operation, or it is performed now.
      const reply = await (work?.startedReply() ?? perform(caller));
      // The change is durable by now.
      if (reply.error === undefined && reply.change !== undefined)
        await announceEvent(listener, reply.change.event, reply.change.order, requestId);
      return { ...matched, quota, caller, reply };
    } catch (thrown) {
      work?.discard();
      const { quota, caller } = access ?? { quota: accessControl.peek(address) };
      return { ...matched, quota, ...(caller && { caller }), reply: failureReply(thrown), thrown };
    }
  };
}
