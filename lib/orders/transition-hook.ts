import { callHook, type HookErrorReporter } from "../core/hooks.ts";
import { type OrderEvent, type OrderStatus, type StoredOrder, statusBefore } from "./lifecycle.ts";

/** A change of an order that has been stored: what happened, as hooks are told. */
export interface OrderTransition {
  readonly order: StoredOrder;
  readonly event: OrderEvent | "place";
  /** The status before. Missing for an order that was placed. */
  readonly from?: OrderStatus;
  readonly to: OrderStatus;
  readonly requestId?: string;
}

/**
 * Called after a change is durable, at most once, and again for a repeated `fulfil`. An error never affects the change,
 * which is acknowledged when the promise has settled, or after 20 seconds. See lib/http/README.md#hooks.
 */
export type TransitionHook = (transition: OrderTransition) => void | Promise<void>;

/** Calls the hook after a change. It gets a copy: the order is also what the caller of the change gets. */
export function announce(
  { onTransition, onHookError }: { onTransition: TransitionHook; onHookError: HookErrorReporter },
  event: OrderTransition["event"],
  { record, status }: StoredOrder,
  requestId?: string,
): Promise<void> {
  const transition = {
    ...{ order: { record: { ...record }, status }, event },
    ...(event !== "place" && { from: statusBefore(event) }),
    to: status,
    ...(requestId !== undefined && { requestId }),
  };
  return callHook("onTransition", () => onTransition(transition), onHookError);
}
