/** A server with the given limits in its own process: reports its address and a key, then its memory use on request. */
import { createAccounts } from "../../../lib/accounts/accounts.ts";
import { createHandler } from "../../../lib/http/handler.ts";
import { type ConnectionLimits, docsPage, startNodeServer } from "../../../lib/node/index.ts";
import { createMemoryStore } from "../../../lib/stores/memory.ts";
import { memoryNow } from "../load/memory.ts";

const store = createMemoryStore();
const accounts = createAccounts({ store: store.accounts, environment: "test" });
await accounts.create("shop", {
  plan: "enterprise",
  customLimits: { perMinute: 60_000, perDay: 10_000_000 },
});
const issued = await accounts.issueKey("shop");
if (!issued.ok) throw new Error(issued.code);
const ids = Array.from({ length: 1_000 }, (_, id) => BigInt(id));
await store.orders.place(ids.map((id) => ({ record: { id }, status: "pending" })));

const handler = createHandler({ store, documents: docsPage() });
const limits: Partial<ConnectionLimits> = JSON.parse(process.argv[2] ?? "{}");
const server = await startNodeServer({ handler, port: 0, limits });

process.on("message", async () => process.send?.(await memoryNow()));
process.on("disconnect", () => process.exit());
process.send?.({ url: server.url, key: issued.key });
