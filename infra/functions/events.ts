/** The Lambda function that sends every change of an order to EventBridge. */
import { EventBridgeClient, PutEventsCommand } from "@aws-sdk/client-eventbridge";
import { errorMessage } from "../../lib/core/errors.ts";
import { changeToJson, type DeliveredChange, deliverChanges } from "../../lib/orders/delivery.ts";
import { DamagedOrderError } from "../../lib/orders/wire.ts";
import { createDynamodbStore } from "../../lib/stores/dynamodb/index.ts";
import { createTelemetry } from "./telemetry.ts";

const {
  STORE_ORDERS_DYNAMODB: prefix,
  STORE_ORDERS_NAMESPACE: namespace,
  STORE_ORDERS_BUS: bus,
} = process.env;
const UNSET =
  "STORE_ORDERS_DYNAMODB and STORE_ORDERS_BUS are not set. Set them to the prefix of the tables and the ARN of the bus.";
if (prefix === undefined || bus === undefined) throw new Error(UNSET);

const store = createDynamodbStore({ prefix });
const eventBridge = new EventBridgeClient({});
const write = (line: string) => process.stdout.write(line);
const telemetry = createTelemetry({ namespace: namespace ?? prefix, write });

/** The time for one call, and what an invocation keeps for the calls that are under way. */
const CALL_MS = 5_000;

async function putEvent(change: DeliveredChange, abortSignal: AbortSignal): Promise<void> {
  const kind = { EventBusName: bus, Source: "store-orders", DetailType: `order.${change.event}` };
  const event = { ...kind, Time: new Date(change.at), Detail: changeToJson(change) };
  const { Entries } = await eventBridge.send(new PutEventsCommand({ Entries: [event] }), { abortSignal });
  const [entry] = Entries ?? [];
  if (entry?.EventId === undefined)
    throw new Error(`EventBridge: ${entry?.ErrorCode}: ${entry?.ErrorMessage}`);
}

/** Logs an error with its causes, of which Lambda's own line has none. */
function logError(error: unknown, change?: string): void {
  write(`${JSON.stringify({ level: "ERROR", message: errorMessage(error), change })}\n`);
}

/** Sends what is due, whoever invokes it. Fails if the store does, so that the alarm on its errors fires. */
export async function handler(
  _event: unknown,
  context: { getRemainingTimeInMillis(): number },
): Promise<void> {
  try {
    await sendChanges(context.getRemainingTimeInMillis());
  } catch (error) {
    logError(error);
    throw error;
  }
}

async function sendChanges(remainingMs: number): Promise<void> {
  let storeError: unknown;
  const delivery = deliverChanges({
    store,
    deliver: putEvent,
    timeoutMs: CALL_MS,
    concurrency: 16,
    untilEmpty: true,
    onError(error, change) {
      if (change === undefined && !(error instanceof DamagedOrderError)) storeError = error;
      else logError(error, change?.id);
    },
  });
  const timer = setTimeout(() => void delivery.stop(), Math.max(0, remainingMs - 2 * CALL_MS));
  await delivery.ended;
  clearTimeout(timer);
  if (storeError !== undefined) throw storeError;
  const backlog = await store.outbox?.backlog();
  if (backlog !== undefined) telemetry.onBacklog(backlog);
}
