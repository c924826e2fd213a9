import { AsyncLocalStorage } from "node:async_hooks";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { createDynamodbStore } from "../../../lib/stores/dynamodb/index.ts";
import type { Store } from "../../../lib/stores/store.ts";
import { EMULATED } from "../../support/dynamodb/emulator.ts";

/** Which message of a call is lost, and whether the client then retries it, as the vendor's client does. */
export type Loss = "request" | "response" | "response, then retried";

const losses = new AsyncLocalStorage<{ loss: Loss | undefined }>();

/** Loses the request or the response of the first write in `work`. */
export function withLoss<T>(loss: Loss | undefined, work: () => Promise<T>): Promise<T> {
  return losses.run({ loss }, work);
}

/** DynamoDB behind a network that loses the chosen messages. */
export function createLossyStore(endpoint: string, prefix: string): Store {
  const client = new DynamoDBClient({ ...EMULATED, endpoint, maxAttempts: 2 });
  client.middlewareStack.add(
    (next, { commandName }) =>
      async (request) => {
        const current = commandName === "UpdateItemCommand" ? losses.getStore() : undefined;
        const loss = current?.loss;
        if (current !== undefined) current.loss = undefined;
        if (loss === "request") throw new Error("The request was lost.");
        const response = await next(request);
        if (loss === undefined) return response;
        // The client decides by the name whether to retry.
        const name = loss === "response" ? "Error" : "TimeoutError";
        throw Object.assign(new Error("The response was lost."), { name });
      },
    // Inside the client's retries.
    { step: "finalizeRequest", priority: "low" },
  );
  return createDynamodbStore({ prefix, client });
}
