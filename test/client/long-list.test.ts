import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterEach, expect, test } from "vitest";
import { createClient, IncompleteListError } from "../../lib/client/index.ts";
import { type NodeServer, startNodeServer } from "../../lib/node/server.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import { createHandlerFixture, MAX } from "../http/fixture.ts";

let server: NodeServer | undefined;
afterEach(() => server?.close({ graceMs: 0 }));

const FIRST = 9_000_000_000_000_000_000n;

/** The service with many orders, behind a real server. */
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
      if (++pages > failAfter) throw new Error("store failed");
      yield page;
    }
  };
  const service = await createHandlerFixture({ store });
  server = await startNodeServer({ handler: service.handler, port: 0 });
  return { ...service, client: createClient({ baseUrl: `${server.url}/v1`, apiKey: service.key }) };
}

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

function heapUsed(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

test("reading 200,000 orders uses constant memory", async () => {
  const { client } = await serve();
  let count = 0;
  let heapAtStart = 0;
  let maxHeap = 0;
  let offset = 0n;
  for await (const { id } of client.list()) {
    if (count >= 3) expect(id === (count < 200_003 ? FIRST + offset++ : MAX)).toBe(true);
    if (count++ === 1_000) heapAtStart = heapUsed();
    if (count % 40_000 === 0) maxHeap = Math.max(maxHeap, heapUsed());
  }
  expect(count).toBe(200_004);
  expect(maxHeap - heapAtStart).toBeLessThan(5 * 1024 * 1024);
});

test("if the store fails during a list, the list throws IncompleteListError after correct orders", async () => {
  const { client } = await serve({ failAfter: 200 });
  const ids: bigint[] = [];
  const reading = (async () => {
    for await (const { id } of client.list()) ids.push(id);
  })();
  await expect(reading).rejects.toBeInstanceOf(IncompleteListError);
  expect(ids.length).toBeGreaterThan(10_000);
  expect(ids.length).toBeLessThanOrEqual(100_000);
  expect(ids.slice(3).every((id, index) => id === FIRST + BigInt(index))).toBe(true);
});

test.each(["break", "abort"])("leaving the loop by %s ends the list in the service", async (way) => {
  const { client, events } = await serve();
  const controller = new AbortController();
  const reading = (async () => {
    for await (const _order of client.list({ signal: controller.signal })) {
      if (way === "break") break;
      controller.abort(new Error("stopped by the test"));
    }
  })();
  if (way === "break") await reading;
  else await expect(reading).rejects.toThrow("stopped by the test");
  while (events.length === 0) await new Promise((resolve) => setImmediate(resolve));
  expect(events).toMatchObject([{ status: 200, bodyEnd: "cancelled" }]);
});
