import { AsyncLocalStorage } from "node:async_hooks";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { createDynamodbStore } from "../../../lib/stores/dynamodb/index.ts";
import type { Store } from "../../../lib/stores/store.ts";
import { EMULATED } from "../../support/dynamodb/emulator.ts";

/** What is lost of a call, and whether it is then made again, as the vendor's client does by itself. */
export type Loss = "request" | "answer" | "answer, sent again";

const losses = new AsyncLocalStorage<{ loss: Loss | undefined }>();

/** Loses the request or the answer of the first write that the work makes. */
export function losing<T>(loss: Loss | undefined, work: () => Promise<T>): Promise<T> {
  return losses.run({ loss }, work);
}

/** DynamoDB behind a network that loses what it is told to. */
export function createLossyStore(endpoint: string, prefix: string): Store {
  const client = new DynamoDBClient({ ...EMULATED, endpoint, maxAttempts: 2 });
  client.middlewareStack.add(
    (next, { commandName }) =>
      async (request) => {
        const current = commandName === "UpdateItemCommand" ? losses.getStore() : undefined;
        const loss = current?.loss;
        if (current !== undefined) current.loss = undefined;
        if (loss === "request") throw new Error("The request was lost.");
        const answer = await next(request);
        if (loss === undefined) return answer;
        // The name is what the client goes by when it decides whether to send again.
        const name = loss === "answer" ? "Error" : "TimeoutError";
        throw Object.assign(new Error("The answer was lost."), { name });
      },
    // Within the client's own tries.
    { step: "finalizeRequest", priority: "low" },
  );
  return createDynamodbStore({ prefix, client });
}
