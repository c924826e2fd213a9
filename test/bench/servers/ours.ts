/** Our server as the benchmark runs it: `ours.ts '{"database": "…", "clockStep": 2}'`. Ends with its parent. */
import { DEFAULT_BAN_POLICY } from "../../../lib/accounts/admission.ts";
import { type Clock, systemClock } from "../../../lib/core/time.ts";
import { createHandler } from "../../../lib/http/handler.ts";
import { startNodeServer } from "../../../lib/node/server.ts";
import type { Store } from "../../../lib/stores/store.ts";

/** The options of our server. One of the first three names the store. */
export interface OurOptions {
  readonly database?: string;
  /** The prefix of DynamoDB tables. */
  readonly dynamodb?: string;
  readonly postgres?: string;
  /** Milliseconds by which the clock advances at each reading, so that no limit is ever reached. */
  readonly clockStep?: number;
  /** Rejected requests before a ban. */
  readonly maxRejections?: number;
  /** Switches the outbox on, so that every change is marked for delivery. */
  readonly outbox?: boolean;
}

const options: OurOptions = JSON.parse(process.argv[2] ?? "{}");
const store = await openStore();
if (options.outbox) await store.outbox?.switch(true);
const banPolicy = {
  ...DEFAULT_BAN_POLICY,
  maxRejections: options.maxRejections ?? DEFAULT_BAN_POLICY.maxRejections,
};
const handler = createHandler({ store, clock: clockOf(options), banPolicy });
const server = await startNodeServer({ handler, port: 0 });
process.send?.({ port: Number(new URL(server.url).port) });
process.on("disconnect", () => process.exit());

async function openStore(): Promise<Store> {
  // Only the selected store is loaded, as in a service.
  if (options.dynamodb !== undefined) {
    const { createDynamodbStore } = await import("../../../lib/stores/dynamodb/index.ts");
    return createDynamodbStore({ prefix: options.dynamodb });
  }
  if (options.postgres !== undefined) {
    const { createPostgresStore } = await import("../../../lib/stores/postgres/index.ts");
    return createPostgresStore({ connectionString: options.postgres });
  }
  const { createSqliteStore } = await import("../../../lib/stores/sqlite/index.ts");
  return createSqliteStore({ path: options.database ?? ":memory:" });
}

function clockOf({ clockStep }: OurOptions): Clock {
  if (clockStep === undefined) return systemClock;
  let now = Date.now();
  return () => {
    now += clockStep;
    return now;
  };
}
