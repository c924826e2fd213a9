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
