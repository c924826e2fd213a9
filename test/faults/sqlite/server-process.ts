/**
 * The service over one SQLite file, like `store-orders serve`, but with a fixed clock: `server-process.ts PATH NOW`. Sends its address to the parent when it listens, and ends with the parent.
 */
import { createHandler } from "../../../lib/http/handler.ts";
import { startNodeServer } from "../../../lib/node/index.ts";
import { createSqliteStore } from "../../../lib/stores/sqlite/index.ts";

const [path = "", now = "0"] = process.argv.slice(2);
const store = createSqliteStore({ path });
const handler = createHandler({
  store,
  clock: () => Number(now),
});
const server = await startNodeServer({ handler, port: 0 });
process.on("disconnect", () => process.exit());
process.send?.(server.url);
