/**
 * A client of the preview of v2: it reads the orders that are to be shipped page by page, stops in the middle as a job
 * does that is restarted, and continues where it stopped.
 */
import { createAccounts, createOrders } from "store-orders";
import { createClient } from "store-orders/client";
import { createHandler, OPERATIONS, V2_PREVIEW_OPERATIONS } from "store-orders/http";
import { createMemoryStore } from "store-orders/memory";
import { startNodeServer } from "store-orders/node";

const store = createMemoryStore();
const accounts = createAccounts({ store: store.accounts, environment: "test" });
await accounts.create("acme", { plan: "pro" });
const issued = await accounts.issueKey("acme");
if (!issued.ok) throw new Error(issued.code);
const orders = createOrders({ store: store.orders });
for (let id = 1n; id <= 250n; id++) await orders.place({ id });
for (let id = 1n; id <= 20n; id++) await orders.cancel(id);

const operations = [...OPERATIONS, ...V2_PREVIEW_OPERATIONS];
const server = await startNodeServer({ handler: createHandler({ store, operations }), port: 0 });
const client = createClient({ baseUrl: `${server.url}/v1`, apiKey: issued.key });

/** Reads at most `maxPages` pages. Returns the cursor of the next one, which a job would store. */
async function work(maxPages: number, cursor?: string): Promise<string | undefined> {
  let pages = 0;
  for await (const page of client.pages({ status: "pending", limit: 100, cursor })) {
    const [first, last] = [page.orders.at(0), page.orders.at(-1)];
    process.stdout.write(`${page.orders.length} orders: ${first?.id} to ${last?.id}\n`);
    if (++pages === maxPages) return page.next;
  }
  return undefined;
}

const stoppedAt = await work(1);
await orders.place({ id: 0n }); // before the cursor: it belongs to the next walk
await orders.place({ id: 1_000n }); // beyond the cursor: it is on a page
await work(Number.POSITIVE_INFINITY, stoppedAt);
const [newest] = (await client.page({ limit: 1, order: "desc" })).orders;
process.stdout.write(`the last order is ${newest?.id}\n`);
await server.close();
