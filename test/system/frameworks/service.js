/** The service that every program mounts, with one key and one order. Prints the key, then the address of each caller. */
import { createAccounts } from "store-orders/accounts";
import { createHandler } from "store-orders/http";
import { createMemoryStore } from "store-orders/memory";

const store = createMemoryStore();
const accounts = createAccounts({ store: store.accounts, environment: "test" });
await accounts.create("acme", { plan: "pro" });
const issued = await accounts.issueKey("acme");
await store.orders.place([{ record: { id: 1n }, status: "pending" }]);
process.stdout.write(`${issued.key}\n`);

export const handler = createHandler({
  store,
  onRequest({ path }, { address = "none" }) {
    // It is called after the response, so that the line of a probe could come after those that the test has read.
    if (path !== "/healthz") process.stdout.write(`${address}\n`);
  },
});
export const port = Number(process.env.PORT);
