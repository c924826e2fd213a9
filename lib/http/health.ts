import type { Clock, Instant } from "../clock.ts";
import { StoreUnavailableError } from "../errors.ts";
import type { OrderStore } from "../orders/order-store.ts";
import { failureReply, type Outcome } from "./response.ts";

/** How long a result is reused, so that probes cost the store at most one call a second. */
const TTL_MS = 1_000;

/** How long the store may take to respond. */
const TIMEOUT_MS = 1_000;

/**
 * Creates the health checks, by path. `/healthz` is 200 while the process serves. `/readyz` is 200 if the store
 * responds within a second, otherwise 503. See lib/http/README.md#health-checks.
 */
export function createHealthChecks(
  orders: Pick<OrderStore, "find">,
  clock: Clock,
): ReadonlyMap<string, () => Promise<Outcome>> {
  let latest: { readonly at: Instant; readonly outcome: Promise<Outcome> } | undefined;

  return new Map([
    ["/healthz", async () => HEALTHY],
    [
      "/readyz",
      () => {
        const at = clock();
        const isFresh = latest !== undefined && at >= latest.at && at < latest.at + TTL_MS;
        if (latest === undefined || !isFresh) latest = { at, outcome: checkStore(orders) };
        return latest.outcome;
      },
    ],
  ]);
}

const HEALTHY: Outcome = { reply: { status: 200, body: '{"status":"ok"}' } };

async function checkStore(orders: Pick<OrderStore, "find">): Promise<Outcome> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(new StoreUnavailableError(`The store did not respond within ${TIMEOUT_MS} ms.`)),
    TIMEOUT_MS,
  );
  try {
    await Promise.race([orders.find(0n), late]);
    return HEALTHY;
  } catch (thrown) {
    return { reply: NOT_READY, thrown };
  } finally {
    clearTimeout(timer);
  }
}

const NOT_READY = failureReply(new StoreUnavailableError("The store is not ready."));
