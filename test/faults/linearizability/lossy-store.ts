import { AsyncLocalStorage } from "node:async_hooks";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { createDynamodbStore } from "../../../lib/stores/dynamodb.ts";
import type { Store } from "../../../lib/stores/store.ts";
import { EMULATED } from "../../stores/dynamodb/emulator.ts";

type Loss = "request" | "answer" | undefined;

const losses = new AsyncLocalStorage<{ loss: Loss }>();

/** Loses the request or the answer of the first write that the work makes. */
export function losing<T>(loss: Loss, work: () => Promise<T>): Promise<T> {
  return losses.run({ loss }, work);
}

/** DynamoDB behind a network that loses what it is told to. Nothing is sent twice: what is lost ends the call. */
export function createLossyStore(endpoint: string, prefix: string): Store {
  const client = new DynamoDBClient({ ...EMULATED, endpoint, maxAttempts: 1 });
  client.middlewareStack.add(
    (next, { commandName }) =>
      async (request) => {
        const current = commandName === "UpdateItemCommand" ? losses.getStore() : undefined;
        const loss = current?.loss;
        if (current !== undefined) current.loss = undefined;
        if (loss === "request") throw new Error("The request was lost.");
        const answer = await next(request);
        if (loss === "answer") throw new Error("The answer was lost.");
        return answer;
      },
    { step: "initialize" },
  );
  return createDynamodbStore({ prefix, client });
}
