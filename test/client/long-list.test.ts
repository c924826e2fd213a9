import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterEach, expect, test } from "vitest";
import { createClient, IncompleteListError } from "../../lib/client/index.ts";
import { type NodeServer, startNodeServer } from "../../lib/node/server.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import { MAX, openShop } from "../http/fixture.ts";

let server: NodeServer | undefined;
afterEach(() => server?.close({ grace: 0 }));

const FIRST = 9_000_000_000_000_000_000n;

/** A shop with many orders behind a real server. */
async function serve({ count = 200_000, failAfter = Infinity } = {}) {
  const store = createMemoryStore();
  const record = { petId: 7n, quantity: 2, shipDate: "2026-11-01T00:00:00Z", complete: true };
  await store.orders.place(
    Array.from({ length: count }, (_, index) => ({
      record: { id: FIRST + BigInt(index), ...record },
      status: "shipped" as const,
    })),
  );
  const { list } = store.orders;
  store.orders.list = async function* () {
    let pages = 0;
    for await (const page of list()) {
      if (++pages > failAfter) throw new Error("gone");
      yield page;
    }
  };
  const shop = await openShop({ store });
  server = await startNodeServer({ handler: shop.handler, port: 0 });
  return { ...shop, client: createClient({ baseUrl: `${server.url}/v1`, apiKey: shop.key }) };
}

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

function heapInUse(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

test("200,000 orders take no more memory at the end than at the start", async () => {
  const { client } = await serve();
  let count = 0;
  let start = 0;
  let most = 0;
  let expected = 0n;
  for await (const { id } of client.list()) {
    if (count >= 3) expect(id === (count < 200_003 ? FIRST + expected++ : MAX)).toBe(true);
    if (count++ === 1_000) start = heapInUse();
    if (count % 40_000 === 0) most = Math.max(most, heapInUse());
  }
  expect(count).toBe(200_004);
  expect(most - start).toBeLessThan(5 * 1024 * 1024);
});

test("a list that the service breaks off is torn, and what came before it is right", async () => {
  const { client } = await serve({ failAfter: 200 });
  const seen: bigint[] = [];
  const reading = (async () => {
    for await (const { id } of client.list()) seen.push(id);
  })();
  await expect(reading).rejects.toBeInstanceOf(IncompleteListError);
  expect(seen.length).toBeGreaterThan(10_000);
  expect(seen.length).toBeLessThanOrEqual(100_000);
  expect(seen.slice(3).every((id, index) => id === FIRST + BigInt(index))).toBe(true);
});

test.each(["break", "abort"])("who leaves by %s ends the reading in the service", async (way) => {
  const { client, events } = await serve();
  const controller = new AbortController();
  const reading = (async () => {
    for await (const _order of client.list({ signal: controller.signal })) {
      if (way === "break") break;
      controller.abort(new Error("enough"));
    }
  })();
  if (way === "break") await reading;
  else await expect(reading).rejects.toThrow("enough");
  while (events.length === 0) await new Promise((resolve) => setImmediate(resolve));
  expect(events).toMatchObject([{ status: 200, bodyEnd: "cancelled" }]);
});
