import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterEach, expect, test } from "vitest";
import { createClient } from "../../lib/client/index.ts";
import { type NodeServer, startNodeServer } from "../../lib/node/server.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import { createHandlerFixture, MAX } from "../http/fixture.ts";

let server: NodeServer | undefined;
afterEach(() => server?.close({ graceMs: 0 }));

const FIRST = 9_000_000_000_000_000_000n;

/** The service with 200,000 orders, behind a real server. */
async function serve() {
  const store = createMemoryStore();
  const record = { petId: 7n, quantity: 2, shipDate: "2026-11-01T00:00:00Z", complete: true };
  await store.orders.place(
    Array.from({ length: 200_000 }, (_, index) => ({
      record: { id: FIRST + BigInt(index), ...record },
      status: "shipped" as const,
    })),
  );
  const { handler, key } = await createHandlerFixture({ store });
  server = await startNodeServer({ handler, port: 0 });
  return createClient({ baseUrl: `${server.url}/v1`, apiKey: key });
}

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

function heapUsed(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

test("reading 200,000 orders uses constant memory", async () => {
  const client = await serve();
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
