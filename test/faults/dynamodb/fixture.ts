/** Tables in an emulator with orders and one key, and the service over them behind a faulty proxy. */

import { hashKey } from "../../../lib/accounts/hash-key.ts";
import { createHandler } from "../../../lib/http/handler.ts";
import { startNodeServer } from "../../../lib/node/index.ts";
import { createDynamodbStore, createDynamodbTables } from "../../../lib/stores/dynamodb/index.ts";
import type { Store } from "../../../lib/stores/store.ts";
import { clientFor, type Emulator, environmentFor } from "../../support/dynamodb/emulator.ts";
import { fillOrders } from "../../support/dynamodb/fill.ts";
import { startProxy } from "../../support/dynamodb/proxy.ts";
import { recordAt } from "../mixed-requests.ts";
import { createRequester } from "../requester.ts";
import { createKey, NOW } from "../service.ts";

let services = 0;

export async function startProxiedService(emulator: Emulator, orders: number) {
  const prefix = `faulty${services++}`;
  const client = clientFor(emulator.endpoint);
  await createDynamodbTables({ prefix, client });
  await fillOrders(client, prefix, orders, (index) => ({
    record: recordAt(index),
    status: "pending",
  }));
  const direct = createDynamodbStore({ prefix, client });
  const key = await createKey(direct.accounts);

  const proxy = await startProxy(emulator.endpoint);
  const store = await openStore(proxy.port, prefix);
  const handler = createHandler({ store, clock: () => NOW });
  const server = await startNodeServer({ handler, port: 0 });
  return {
    ...{ proxy, store, direct, prefix },
    send: createRequester(server.url, key),
    key: { accountId: "shop", hash: hashKey(key) },
    async [Symbol.asyncDispose]() {
      await server.close({ graceMs: 0 });
      await store.close();
      await proxy.close();
      client.destroy();
    },
  };
}

let queue = Promise.resolve();

/** A store with the default client, configured by the environment. It is read at the first call, so opening is serialized. */
async function openStore(port: number, prefix: string): Promise<Store> {
  const opened = queue.then(async () => {
    Object.assign(process.env, environmentFor(`http://127.0.0.1:${port}`));
    const store = createDynamodbStore({ prefix });
    await store.orders.find(0n);
    // Admissions and lists have their own clients.
    await store.accounts.admit({ accountId: "nobody", hash: "0".repeat(64) }, NOW);
    await store.orders.list()[Symbol.asyncIterator]().next();
    return store;
  });
  queue = opened.then(
    () => {},
    () => {},
  );
  return opened;
}
