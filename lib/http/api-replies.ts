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
import { storeWork } from "./store-work.ts";

/** A request to the API. */
export interface ApiRequest {
  readonly request: RequestHead;
  /** The path below the base path. */
  readonly path: string;
  /** The IP address of the caller. */
  readonly address: string;
  readonly requestId: string;
}

/** Creates the API: a function that admits a request, and then performs its operation. Never rejects. */
export function createApi(
  { store, pets = async () => undefined, onTransition, onHookError = logHookError }: HandlerOptions,
  { operations, access, clock }: { operations: readonly Operation[]; access: AccessControl; clock: Clock },
): (apiRequest: ApiRequest) => Promise<Outcome> {
  const listener = onTransition && { onTransition, onHookError };
  const handlers = createOperationHandlers(store.orders, clock, pets);
  const performOperation = createPerformer(operations, handlers, clock);
  const findRoute = createRouter(operations);

  return async ({ request, path, address, requestId }) => {
    const route = findRoute(request.method, path);
    const matched = route.error === undefined ? { operation: route.operation } : {};
    let granted: Access | undefined;
    try {
      const perform = () => performOperation(route, { request, requestId, caller: granted?.caller });
      const work = storeWork(route, perform);
      granted = await access.check(request.headers.get("authorization"), address, work);
      const reply = granted.denied ?? (await (work?.reply() ?? perform()));
      // The change is durable by now, and so is the count of the request.
      if (reply.error === undefined && reply.change !== undefined)
        await announceEvent(listener, reply.change.event, reply.change.order, requestId);
      return { ...matched, access: granted, reply };
    } catch (thrown) {
      return { ...matched, access: granted ?? access.peek(address), reply: failureReply(thrown), thrown };
    }
  };
}
