/**
 * The service over a store, like `store-orders serve`, but with a fixed clock: `service-process.ts ADDRESS NOW`, the address
 * as JSON. Sends its address to the parent when it listens, and ends with the parent.
 */
import { createHandler } from "../../lib/http/handler.ts";
import { startNodeServer } from "../../lib/node/index.ts";
import { openStore, type StoreAddress } from "../support/store-address.ts";

const [address = "", now = "0"] = process.argv.slice(2);
const store = await openStore(JSON.parse(address) as StoreAddress);
const handler = createHandler({ store, clock: () => Number(now) });
const server = await startNodeServer({ handler, port: 0 });
process.on("disconnect", () => process.exit());
process.send?.(server.url);
