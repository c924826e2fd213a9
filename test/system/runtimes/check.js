/** Uses the installed package on the runtime that executes this: loads entry points, and checks stores and the service. */
import { createAccounts } from "store-orders/accounts";
import { createClient } from "store-orders/client";
import { storeContract } from "store-orders/contract";
import { createHandler, defineOperation, OPERATIONS } from "store-orders/http";
import { createMemoryStore } from "store-orders/memory";

const [entries = "", stores = "", database = ""] = process.argv.slice(2);
for (const entry of entries.split(",")) await import(entry);

const open = {
  memory: createMemoryStore,
  async sqlite() {
    const { createSqliteStore } = await import("store-orders/sqlite");
    return createSqliteStore({ path: ":memory:" });
  },
};
const passed = {};
for (const name of stores.split(",")) {
  passed[name] = 0;
  for (const { name: guarantee, check } of storeContract) {
    const store = await open[name]();
    // A case that needs several instances is skipped, and returns the reason.
    const skipped = await check(store).catch((error) => {
      throw new Error(`${name}: ${guarantee}`, { cause: error });
    });
    if (skipped === undefined) passed[name]++;
    await store.close();
  }
}

const store = createMemoryStore();
const accounts = createAccounts({ store: store.accounts, environment: "test" });
await accounts.create("shop", { plan: "free" });
const { key } = await accounts.issueKey("shop");
await store.orders.place([{ record: { id: 9223372036854775807n }, status: "pending" }]);
const echo = defineOperation({
  ...{ id: "echo", method: "POST", path: "/echo", tag: "echo", summary: "Echo", description: "Echo." },
  ...{ success: { status: 200, description: "The body." }, errors: [] },
  body: { "~standard": { validate: (value) => ({ value }) } },
  jsonSchemas: { body: {} },
  maxBodyBytes: 200_000,
  handle: async ({ body }) => ({ status: 200, body: `${body.id}` }),
});
const handler = createHandler({ store, operations: [...OPERATIONS, echo] });
const post = async (body) => {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  return handler(new Request("http://shop.test/v1/echo", { method: "POST", headers, body }));
};
const posted = await post(`{"id":9223372036854775807,"text":"${"a".repeat(100_000)}"}`);
const bodies = [await posted.text(), (await post(`"${"a".repeat(200_000)}"`)).status];
const client = createClient({
  baseUrl: "http://shop.test/v1",
  apiKey: key,
  fetch: (input, init) => handler(new Request(input, init)),
});
const ids = [];
for await (const order of client.list()) ids.push(String(order.id));
const results = [await client.cancel(9223372036854775807n), await client.cancel(9223372036854775807n)];

const codes = results.map((result) => result.code ?? "ok");
// A file, so that another process can read what this one has written.
if (database !== "") {
  const { createSqliteStore } = await import("store-orders/sqlite");
  const { DatabaseSync } = await import("node:sqlite");
  const holder = new DatabaseSync(database);
  holder.exec("BEGIN IMMEDIATE; CREATE TABLE held (id)");
  const locked = (async () => createSqliteStore({ path: database }))();
  codes.push(await locked.catch(({ name }) => name));
  holder.close();
  const file = createSqliteStore({ path: database });
  await file.orders.place([{ record: { id: -1n }, status: "pending" }]);
  await file.close();
}
process.stdout.write(JSON.stringify({ passed, ids, bodies, codes }));
