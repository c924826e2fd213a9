/** A server with the given limits in its own process: reports its address and two keys, one of which has few requests, then its memory use on request. */
import { createAccounts } from "../../../lib/accounts/accounts.ts";
import { defineDomains } from "../../../lib/domains/parse.ts";
import { hostTable } from "../../../lib/domains/routing.ts";
import { createHandler } from "../../../lib/http/handler.ts";
import { type ConnectionLimits, docsPage, startNodeServer } from "../../../lib/node/index.ts";
import { createMemoryStore } from "../../../lib/stores/memory.ts";
import { memoryNow } from "../load/memory.ts";

const PRIMARY = "orders.example.com";
const store = createMemoryStore();
const accounts = createAccounts({ store: store.accounts, environment: "test" });
await accounts.create("shop", {
  plan: "enterprise",
  customLimits: { perMinute: 60_000, perDay: 10_000_000 },
});
await accounts.create("free", { plan: "free" });
const [issued, limited] = [await accounts.issueKey("shop"), await accounts.issueKey("free")];
if (!issued.ok || !limited.ok) throw new Error("No key was issued.");
const ids = Array.from({ length: 1_000 }, (_, id) => BigInt(id));
await store.orders.place(ids.map((id) => ({ record: { id }, status: "pending" })));

const limits: Partial<ConnectionLimits> = JSON.parse(process.argv[2] ?? "{}");
const hosts = hostTable(
  defineDomains({ primary: PRIMARY, redirects: [{ from: "www.example.com", to: PRIMARY }] }, { plan: "pro" }),
  ["localhost", "x"],
);
const handler = createHandler({
  store,
  documents: docsPage(),
  hosts: () => hosts,
  banPolicy: { maxRejections: 20, durationMs: 2_000 },
  pets: async (id) => (id === 1n ? { id } : undefined),
});
const server = await startNodeServer({ handler, port: 0, limits });

process.on("message", async () => process.send?.(await memoryNow()));
process.on("disconnect", () => process.exit());
process.send?.({ url: server.url, key: issued.key, limitedKey: limited.key });
