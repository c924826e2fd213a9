/** A server that prints its address, and how many connections it has refused for each message of its parent. */
import { startNodeServer } from "../../lib/node/server.ts";

const server = await startNodeServer({ handler: async () => new Response("ok"), port: 0 });
process.send?.(server.url);
process.on("message", () => process.send?.(server.refusedConnections));
process.on("disconnect", () => process.exit());
