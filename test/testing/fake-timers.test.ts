import { mock } from "node:test";
import { expect, onTestFinished, test, vi } from "vitest";
import { createClient } from "../../lib/client/index.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import { createSqliteStore } from "../../lib/stores/sqlite/index.ts";
import { createHandlerFixture } from "../http/fixture.ts";

const FAKES = [
  ["vitest and Jest", () => vi.useFakeTimers(), () => vi.useRealTimers()],
  ["node:test", () => mock.timers.enable(), () => mock.timers.reset()],
] as const;
const STORES = [
  ["memory", createMemoryStore],
  ["SQLite", () => createSqliteStore({ path: ":memory:" })],
] as const;

test.each(
  FAKES.flatMap(([fake, ...timers]) =>
    STORES.map(([store, open]) => [fake, store, open, ...timers] as const),
  ),
)(
  "under the fake timers of %s, as they are by default, a long list and a cancel of a store in %s do not wait for them",
  async (_fake, _store, open, start, stop) => {
    const store = open();
    const orders = Array.from({ length: 2_500 }, (_, id) => ({
      ...{ record: { id: BigInt(id) }, status: "pending" as const },
    }));
    start();
    onTestFinished(() => void stop());
    await store.orders.place(orders);
    const { handler, key } = await createHandlerFixture({ store });
    const fetch = (url: string, init: RequestInit) => handler(new Request(url, init));
    const client = createClient({ baseUrl: "http://orders.test/v1", apiKey: key, fetch });
    let count = 0;
    for await (const _order of client.list()) count++;
    expect(count).toBeGreaterThanOrEqual(2_500);
    expect(await client.cancel(7n)).toEqual({ ok: true });
  },
);

/** A client whose first response asks for a wait of a minute. */
function clientAfterWait() {
  const responses = [
    Response.json({ code: "rate_limit_exceeded" }, { status: 429, headers: { "retry-after": "60" } }),
    new Response(null, { status: 204 }),
  ];
  const fetch = async () => responses.shift() ?? expect.fail();
  return createClient({ baseUrl: "http://orders.test/v1", apiKey: "so_x", random: () => 0, fetch });
}

test("a clock that is set back by an hour does not make a client wait for that hour", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const call = clientAfterWait().cancel(1n);
  await vi.advanceTimersByTimeAsync(1_000);
  vi.setSystemTime(Date.now() - 3_600_000);
  await vi.advanceTimersByTimeAsync(59_000);
  expect(await call).toEqual({ ok: true });
});

test("the waits of a client end with the timers of node:test, which have no performance.now", async () => {
  mock.timers.enable();
  onTestFinished(() => mock.timers.reset());
  const call = clientAfterWait().cancel(1n);
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
  mock.timers.tick(1);
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
  mock.timers.tick(60_000);
  expect(await call).toEqual({ ok: true });
});
