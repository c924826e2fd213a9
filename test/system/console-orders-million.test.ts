import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { StoredOrder } from "../../lib/orders/lifecycle.ts";
import { createSqliteStore } from "../../lib/stores/sqlite/index.ts";
import { signIn, useConsole } from "../support/console.ts";

const ORDERS = 1_000_000;
/** What pages take at most, and what any page takes on a machine that has other work. */
const [LIMIT_MS, GENEROUS_MS] = [250, 1_000];
const BATCH = 5_000;

test("a million orders in SQLite are counted for every page, and paged through within 250 ms a page", async () => {
  const directory = mkdtempSync(join(tmpdir(), "store-orders-console-"));
  const store = createSqliteStore({ path: join(directory, "orders.db") });
  onTestFinished(async () => {
    await store.close();
    rmSync(directory, { recursive: true });
  });
  for (let from = 0; from < ORDERS; from += BATCH)
    await store.orders.place(Array.from({ length: BATCH }, (_, index) => orderAt(from + index)));

  const fixture = await useConsole({ store });
  const cookie = await signIn(fixture);
  const times: number[] = [];
  const pages: string[] = [];
  const load = async (path: string) => {
    const start = performance.now();
    const response = await fetch(fixture.at(path), { headers: { cookie } });
    pages.push(await response.text());
    times.push(performance.now() - start);
    return pages.at(-1) ?? "";
  };

  let page = await load("orders");
  const countsOf = (text: string) => [...text.matchAll(/<dd>([\d,]+)<\/dd>/g)].map(([, count]) => count);
  expect(countsOf(page)).toEqual(["1,000,000", "500,000", "500,000", "0"]);
  for (let turns = 0; turns < 200; turns++)
    page = await load(`orders${/\?after=\d+(?=">Next page)/.exec(page)?.[0] ?? ""}`);
  const sorted = times.toSorted((a, b) => a - b);
  const median = sorted[Math.floor(sorted.length / 2)] ?? 0;
  process.stdout.write(
    `${times.length} pages of ${ORDERS} orders, with their counts: ` +
      `first ${times[0]?.toFixed()} ms, median ${median.toFixed()} ms, longest ${sorted.at(-1)?.toFixed()} ms\n`,
  );
  expect(sorted[Math.floor(sorted.length * 0.99)]).toBeLessThan(LIMIT_MS);
  expect(sorted.at(-1)).toBeLessThan(GENEROUS_MS);
  const ids = pages.flatMap((text) => [...text.matchAll(/<tr id="order-(\d+)"/g)].map(([, id]) => id));
  expect(ids).toEqual(Array.from({ length: 50 * pages.length }, (_, index) => `${ORDERS - 1 - index}`));

  // After a count, pages do not wait for the next one, but soon there is one.
  await store.orders.apply(0n, "cancel", Date.now());
  await expect
    .poll(async () => countsOf(await load("orders")))
    .toEqual(["1,000,000", "499,999", "500,000", "1"]);
  expect(await load("orders?after=50")).not.toContain("Next page");
});

function orderAt(index: number): StoredOrder {
  return {
    record: { id: BigInt(index), petId: 7n, quantity: 2, shipDate: "2026-12-01T09:00:00Z" },
    status: index % 2 === 0 ? "pending" : "shipped",
  };
}
