import type { AccountStore } from "../../lib/accounts/account-store.ts";
import { type Clock, systemClock } from "../../lib/clock.ts";
import { accessLine } from "../../lib/http/access-log.ts";
import type { RequestEvent } from "../../lib/http/request-event.ts";
import type { OrderStore } from "../../lib/orders/order-store.ts";
import { embed, type Metric } from "./metric.ts";

/** What is told of the functions' work: lines of JSON with metrics in them. */
export interface Telemetry {
  /** Requests by operation and status, and who was admitted and refused by plan. */
  readonly onRequest: (event: RequestEvent) => void;
  /** How long the list took to begin. */
  readonly onFirstByte: (status: number, milliseconds: number) => void;
  /** The same store, of which bans and the rows of whole lists are told. */
  watch(store: Ports): Ports;
}

interface Ports {
  readonly orders: OrderStore;
  readonly accounts: AccountStore;
}

/** Makes the telemetry of one process. `namespace` tells the stacks of one account apart. */
export function createTelemetry({
  namespace,
  write,
  clock = systemClock,
}: {
  namespace: string;
  write: (line: string) => void;
  clock?: Clock;
}): Telemetry {
  const tell = (...metrics: readonly Metric[]) =>
    write(`${JSON.stringify(embed(namespace, clock(), metrics))}\n`);

  return {
    onRequest(event) {
      const at = clock();
      const line = { ...event, ...embed(namespace, at, requestMetrics(event)) };
      write(`${accessLine(line, new Date(at))}\n`);
    },

    onFirstByte(status, value) {
      if (status === 200) tell({ name: "ListFirstByte", value, unit: "Milliseconds" });
    },

    watch({ orders, accounts }) {
      return {
        orders: {
          ...orders,
          async *list() {
            let rows = 0;
            for await (const page of orders.list()) {
              rows += rowsIn(page.json);
              // Who reads a list need not come back after its last page.
              if (page.last) tell({ name: "ListRows", value: rows });
              yield page;
            }
          },
        },
        accounts: {
          ...accounts,
          async admit(...asked) {
            const admission = await accounts.admit(...asked);
            const banned = admission.outcome === "refused" && admission.write?.bannedUntil !== undefined;
            if (banned) tell({ name: "Bans", value: 1, by: { Plan: admission.caller.plan } });
            return admission;
          },
        },
      };
    },
  };
}

function requestMetrics({ operation = "none", status, plan, errorCode }: RequestEvent): readonly Metric[] {
  const requests = { name: "Requests", value: 1, by: { Operation: operation, Status: `${status}` } };
  if (plan === undefined) return [requests];
  const refused = errorCode === "rate_limit_exceeded" || errorCode === "api_key_banned";
  return [requests, { name: refused ? "Refused" : "Admitted", value: 1, by: { Plan: plan } }];
}

/** Every record begins with its identifier, and no other field can hold these characters. */
function rowsIn(text: string): number {
  let rows = 0;
  for (let at = text.indexOf('{"id":'); at !== -1; at = text.indexOf('{"id":', at + 1)) rows++;
  return rows;
}
