import { withDefaults } from "../../../infra/config/settings.ts";
import { BUCKETS } from "../../../lib/stores/dynamodb/schema.ts";
import type { Measured } from "./measure.ts";
import { priceOf } from "./prices.ts";
import { QUOTAS } from "./quotas.ts";
import { consumptionOf, DURATION_SECONDS, FREE_STREAM_BYTES, MEMORY_GB } from "./tables.ts";

/** The load: one request of a thousand lists all orders, the others cancel one. The peak is ten times the mean. */
export const LISTS = 1 / 1_000;
export const PEAK = 10;
const SECONDS = 30 * 86_400;
/** Assumed: how fast a function reads, compresses and sends. */
const ORDERS_PER_SECOND = 100_000;

export interface Load {
  readonly requestsAMonth: number;
  readonly orders: number;
}

export interface ListCost {
  readonly readUnits: number;
  /** As sent: compressed. */
  readonly bytes: number;
  readonly seconds: number;
}

/** What a list of so many orders takes, from what one of 10,000 was measured to take. */
export function listCost(measured: Measured, ratio: number, orders: number): ListCost {
  const long = consumptionOf(measured, "list 10,000 orders");
  const bytes = ((long.bytes / 10_000) * orders) / ratio;
  const sending = Math.max(0, bytes - QUOTAS.burstBytes) / QUOTAS.streamBytesPerSecond;
  return {
    readUnits: (long.readUnits / 10_000) * orders,
    bytes,
    seconds: Math.max(DURATION_SECONDS, orders / ORDERS_PER_SECOND, sending),
  };
}

/** A limit, and the share of it that a load takes at its peak: above 1, the load does not fit. */
export interface Limit {
  readonly name: string;
  readonly next: string;
  /** Whether fewer requests help. */
  readonly ofRequests: boolean;
  share(load: Load, list: ListCost): number;
}

const { perSecond } = withDefaults({}).throttle;
const peakOf = ({ requestsAMonth }: Load) => (requestsAMonth / SECONDS) * PEAK;

/** The limits of a stack. */
export const LIMITS: readonly Limit[] = [
  {
    name: `the throttle of the stage, ${perSecond} requests a second`,
    next: "raise `throttle`",
    ofRequests: true,
    share: (load) => peakOf(load) / perSecond,
  },
  {
    name: `API Gateway, ${QUOTAS.gatewayPerSecond.toLocaleString("en-US")} requests a second`,
    next: "have the quota raised, or use several regions",
    ofRequests: true,
    share: (load) => peakOf(load) / QUOTAS.gatewayPerSecond,
  },
  {
    name: `Lambda, ${QUOTAS.concurrency.toLocaleString("en-US")} executions at once`,
    next: "have the quota raised, or lists from a container",
    ofRequests: true,
    share: (load, { seconds }) => {
      const executions = peakOf(load) * ((1 - LISTS) * DURATION_SECONDS + LISTS * seconds);
      return Math.max(executions, peakOf(load) / QUOTAS.requestsPerSecond) / QUOTAS.concurrency;
    },
  },
  {
    name: `the \`orders\` table, ${QUOTAS.tableReadsPerSecond.toLocaleString("en-US")} read units a second`,
    next: "list less often, or have the quota raised: 16 buckets give at most 48,000",
    ofRequests: true,
    share: (load, { readUnits }) => {
      const units = peakOf(load) * LISTS * readUnits;
      const ofBucket = units / BUCKETS / QUOTAS.partitionReadsPerSecond;
      return Math.max(units / QUOTAS.tableReadsPerSecond, ofBucket);
    },
  },
  {
    name: "a streamed response, 200 MB",
    next: "[`serve --dynamodb`](#lists-beyond-200-mb)",
    ofRequests: false,
    share: (_load, { bytes }) => bytes / QUOTAS.streamBytes,
  },
];

/** What a month costs, without what it costs in any case, in dollars. */
export function monthCost(measured: Measured, { requestsAMonth, orders }: Load, list: ListCost): number {
  const cancel = consumptionOf(measured, "cancel an order");
  const short = consumptionOf(measured, "list 20 orders");
  const lists = requestsAMonth * LISTS;
  const cancels = requestsAMonth - lists;
  return (
    priceOf("gateway", cancels + lists * Math.ceil(list.bytes / QUOTAS.gatewayBytesPerRequest)) +
    priceOf("invocation", requestsAMonth) +
    priceOf("duration", (cancels * DURATION_SECONDS + lists * list.seconds) * MEMORY_GB) +
    priceOf("streamed", lists * Math.max(0, list.bytes - FREE_STREAM_BYTES)) +
    priceOf("write", cancels * cancel.writeUnits + lists * short.writeUnits) +
    priceOf("read", lists * list.readUnits) +
    priceOf("logs", cancels * cancel.logBytes + lists * short.logBytes) +
    priceOf("transfer", lists * list.bytes) +
    priceOf("storage", (orders * STORED_BYTES) / 1e9)
  );
}

/** Of an order: its attributes, its keys, and 100 bytes that DynamoDB adds. */
const STORED_BYTES = 200;
