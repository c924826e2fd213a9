import { AsyncLocalStorage } from "node:async_hooks";
import type { PoolClient } from "pg";
import type { PostgresPool } from "../../../lib/stores/postgres/index.ts";
import type { Store } from "../../../lib/stores/store.ts";
import { openStore, type StoreAddress } from "../../support/store-address.ts";

/** Which message of a call is lost, and whether the client then retries it, as the vendor's client does. */
export type Loss = "request" | "response" | "response, then retried";

const losses = new AsyncLocalStorage<{ loss: Loss | undefined }>();

/** Loses the request or the response of the first write in `work`. */
export function withLoss<T>(loss: Loss | undefined, work: () => Promise<T>): Promise<T> {
  return losses.run({ loss }, work);
}

/**
 * Opens a store. A database with a network is behind one that loses the chosen messages. Only its own driver is loaded,
 * because a suite that kills processes starts many.
 */
export async function openLossyStore(address: StoreAddress): Promise<Store> {
  if (address.kind === "dynamodb") return createLossyDynamodbStore(address);
  if (address.kind === "postgres") return createLossyPostgresStore(address);
  return openStore(address);
}

async function createLossyDynamodbStore({
  endpoint,
  prefix,
}: Extract<StoreAddress, { kind: "dynamodb" }>): Promise<Store> {
  const { createDynamodbStore } = await import("../../../lib/stores/dynamodb/index.ts");
  const { clientFor } = await import("../../support/dynamodb/emulator.ts");
  const client = clientFor(endpoint, { maxAttempts: 2 });
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

/** Loses the COMMIT of a transaction, or the response to it, and with it the connection. */
async function createLossyPostgresStore({
  connectionString,
  schema,
}: Extract<StoreAddress, { kind: "postgres" }>): Promise<Store> {
  const { Pool } = await import("pg");
  const { createPostgresStore } = await import("../../../lib/stores/postgres/index.ts");
  const pool = new Pool({ connectionString, pipeline: true });
  pool.on("error", () => {});
  const lossyPool: PostgresPool = {
    async connect() {
      const connection: PoolClient = await pool.connect();
      return {
        pipeline: true,
        release: (close) => connection.release(close),
        async query(query) {
          const current = query.text === "COMMIT" ? losses.getStore() : undefined;
          const loss = current?.loss;
          if (current !== undefined) current.loss = undefined;
          if (loss === "request") throw new Error("The request was lost.");
          const response = (await connection.query(query)) as unknown as { rows: unknown[][] };
          if (loss !== undefined) throw new Error("The response was lost.");
          return response;
        },
      };
    },
  };
  return createPostgresStore({ pool: lossyPool, schema });
}
