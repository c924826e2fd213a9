import { beforeEach, describe, expect, test } from "vitest";
import { FIRST_TABLE, formatTable, parseTable } from "../../../lib/console/orders/orders-page.ts";
import { LIFECYCLE } from "../../../lib/orders/lifecycle.ts";
import type { OrderStore } from "../../../lib/orders/order-store.ts";
import { createOrders } from "../../../lib/orders/orders.ts";
import { DamagedOrderError } from "../../../lib/orders/wire.ts";
import { createMemoryStore } from "../../../lib/stores/memory.ts";
import { follow, readTable, useSession } from "../../support/console.ts";

let console: Awaited<ReturnType<typeof useSession>>;
beforeEach(async () => {
  console = await useSession();
});

const get = async (path: string) => readTable(await console.get(path));

const PAGES = ["First page", "Previous page", "Next page", "Last page"];
const pagesOf = ({ links }: Awaited<ReturnType<typeof get>>) => PAGES.filter((label) => label in links);

/** 230 orders with negative and positive identifiers; every fifth is shipped. */
const IDS = Array.from({ length: 230 }, (_, index) => index - 100);
const isShipped = (id: number) => id % 5 === 0;

async function fill(store: OrderStore = console.store.orders): Promise<void> {
  await store.place(
    IDS.map((id) => ({ record: { id: BigInt(id) }, status: isShipped(id) ? "shipped" : "pending" })),
  );
}

describe.each([
  ["orders", [...IDS].reverse()],
  ["orders?status=pending&sort=lowest", IDS.filter((id) => !isShipped(id))],
  ["orders?status=shipped&sort=lowest", IDS.filter(isShipped)],
] as const)("%s", (path, ids) => {
  const pages = Array.from({ length: Math.ceil(ids.length / 50) }, (_, index) =>
    ids.slice(50 * index, 50 * index + 50).map(String),
  );

  test("every order is on one page; next and previous pages, the first and the last one are links", async () => {
    await fill();
    const forwards = await follow(console.get, await get(path), "Next page");
    expect(forwards.map(({ rows }) => rows)).toEqual(pages);
    const [first = expect.fail(), last = first] = [forwards[0], forwards.at(-1)];
    if (pages.length > 1) {
      expect(pagesOf(first)).toEqual(["Next page", "Last page"]);
      expect(pagesOf(last)).toEqual(["First page", "Previous page"]);
      expect((await get(last.links["First page"] ?? "")).rows).toEqual(pages[0]);
      const lastOfAll = await get(first.links["Last page"] ?? "");
      expect(lastOfAll.rows).toEqual(ids.slice(-50).map(String));
      const toFirst = await follow(console.get, lastOfAll, "Previous page");
      expect(toFirst.at(-1)?.rows).toEqual(pages[0]);
      expect(new Set(toFirst.flatMap(({ rows }) => rows)).size).toBe(ids.length);
    } else expect(pagesOf(first)).toEqual([]);
    const backwards = await follow(console.get, last, "Previous page");
    expect(backwards.map(({ rows }) => rows)).toEqual([...pages].reverse());
  });
});

test("the counts are links to the orders with their status, in the order of the table", async () => {
  await fill();
  const { text } = await get("orders?sort=lowest&status=shipped");
  const counts = [
    ...text.matchAll(/<dt><a href="([^"]+)"( aria-current="true")?>(\w+)<\/a><\/dt><dd>(\d+)/g),
  ];
  const expected: Partial<Record<string, string>> = { pending: "184", shipped: "46" };
  expect(
    counts.map(([, href = "", current, label, count]) => [
      href.split("?")[1],
      current !== undefined,
      label,
      count,
    ]),
  ).toEqual([
    ["sort=lowest", false, "all", "230"],
    ...LIFECYCLE.statuses.map((status) => [
      `status=${status}&amp;sort=lowest`,
      status === "shipped",
      status,
      expected[status] ?? "0",
    ]),
  ]);
  expect((await get("orders?status=cancelled")).text).toContain("There are no cancelled orders.");
});

test("a queue is worked off: a shipped order makes room for the next one, until the queue is empty", async () => {
  await fill();
  const ship = async (id: string, list: string) =>
    readTable(await console.post(`orders/${id}/ship`, { list }));
  const { rows } = await get("orders?status=pending&after=100");
  const [first = "", second] = rows;
  const after = await ship(first, "status=pending&after=100");
  expect(after.text).toContain(`Order ${first} has been shipped.`);
  expect([after.rows[0], after.rows.length]).toEqual([second, 50]);
  const [last = 0, ...others] = IDS.filter(
    (each) => each < 100 && each !== Number(first) && !isShipped(each),
  );
  const { ship: shipNow } = createOrders({ store: console.store.orders });
  for (const id of others) await shipNow(BigInt(id));
  const emptied = await ship(`${last}`, "status=pending&after=100");
  expect(emptied.text).toContain("There are no more pending orders.");
  const empty = await get("orders?status=pending&after=-101");
  expect(empty.text).toContain("There are no more pending orders.");
  expect(pagesOf(empty)).toEqual(["First page", "Previous page"]);
  expect((await get(empty.links["Previous page"] ?? "")).rows.length).toBeGreaterThan(0);
});

test("a store that finds few orders in a read is asked a few times; its position is the next page", async () => {
  const { orders, ...rest } = createMemoryStore();
  let calls = 0;
  // Each call reads ten orders, of which none or a few have the status.
  const page: OrderStore["page"] = async ({ status, ...query }) => {
    calls += 1;
    const found = await orders.page({ ...query, limit: 10 });
    return {
      ...found,
      orders: found.orders.filter((order) => order.status === (status ?? order.status)),
    };
  };
  console = await useSession({ store: { ...rest, orders: { ...orders, page } }, isMetered: true });
  await fill(orders);
  const cancelled = await get("orders?status=cancelled");
  expect([calls, cancelled.rows, pagesOf(cancelled)]).toEqual([4, [], ["Next page", "Last page"]]);
  expect(cancelled.text).toContain("The next page may have some.");
  const shipped = await follow(console.get, await get("orders?status=shipped"), "Next page");
  expect(shipped.flatMap(({ rows }) => rows)).toEqual(IDS.filter(isShipped).reverse().map(String));
});

test.each([
  ["orders?status=lost", `status: Use one of: ${LIFECYCLE.statuses.join(", ")}.`],
  ["orders?sort=up", "sort: Use one of: highest, lowest."],
  ["orders?after=1,x", "-9223372036854775808 to 9223372036854775807"],
  ["orders?before=x", "-9223372036854775808 to 9223372036854775807"],
])("%s is an error that says what is accepted, above the first page", async (path, message) => {
  await fill();
  const { status, text, rows } = await get(path);
  expect([status, rows[0]]).toEqual([422, "129"]);
  expect(text).toContain(message);
});

test("the query string of every table is read as that table", () => {
  const max = 2n ** 63n - 1n;
  for (const status of [undefined, "pending", "shipped", "cancelled"] as const)
    for (const sort of ["highest", "lowest"] as const)
      for (const side of ["after", "before"] as const)
        for (const id of [undefined, 0n, -max, max])
          expect(parseTable(formatTable({ status, sort, side, id }))).toEqual({ status, sort, side, id });
  expect(formatTable(FIRST_TABLE)).toBe("");
});

test("the page of an order leads back to the part of the table that it was opened from, also after a change", async () => {
  await fill();
  const shown = "status=pending&sort=lowest&after=7";
  const { text } = await get(`orders?${shown}`);
  const [, href = ""] = /<th[^>]*><a href="([^"]+)"/.exec(text) ?? [];
  const order = await console.textOf(href.replaceAll("&amp;", "&"));
  const isBack = new RegExp(`href="[^"]*/orders\\?${shown.replaceAll("&", "&amp;")}">← Back to the list`);
  expect(order).toMatch(isBack);
  const form = /<form(?:(?!<\/form>)[\s\S])*Ship order/.exec(order)?.[0] ?? "";
  const fields = [...form.matchAll(/name="([^"]+)" value="([^"]*)"/g)].map(([, name, value = ""]) => [
    name,
    value.replaceAll("&amp;", "&"),
  ]);
  const shipped = await console.post("orders/8/ship", Object.fromEntries(fields));
  expect([shipped.status, isBack.test(await shipped.text())]).toEqual([200, true]);
  expect(await console.textOf("orders/8")).toMatch(/href="[^"]*\/orders">← All orders/);
});

test("an export says what it writes, and how many orders if the last count knows", async () => {
  await fill();
  const labels = async () => (await get("orders")).text.match(/(?<=download>)[^<]+/g);
  expect(await labels()).toEqual(["Export 230 orders (NDJSON)"]);
  expect((await get("orders?status=shipped&sort=lowest&after=7")).text).toContain(
    ">Export 46 orders (NDJSON)<",
  );
  const { store } = console;
  console = await useSession({ store, isMetered: true });
  expect(await labels()).toEqual(["Export orders (NDJSON)"]);
});

test("changes that wait for a minute are counted, and those that were set aside have the command to list them", async () => {
  const { orders, outbox = expect.fail() } = console.store;
  const panel = async () => /id="changes"[\s\S]*?<\/section>/.exec((await get("orders")).text)?.[0];
  await outbox.switch(true);
  expect(await panel()).toBeUndefined();
  await orders.place([2n, 3n].map((id) => ({ record: { id }, status: "pending" })));
  expect(await panel(), "on their way").toBeUndefined();
  await orders.place([{ record: { id: 4n }, status: "pending" }], Date.now() + 9 * 365 * 86_400_000);
  await outbox.acknowledge([2n, 3n].map((id) => ({ id, delivered: 1, lease: -1 })));
  expect(await panel(), "of a wrong clock").toMatch(/<dd>1<\/dd>/);
  await outbox.acknowledge([{ id: 4n, delivered: 1, lease: -1 }]);
  await orders.place([5n, 6n].map((id) => ({ record: { id }, status: "pending" })));
  await orders.place([{ record: { id: 1n }, status: "pending" }], Date.now() - 60_001);
  expect(await panel()).toMatch(/<dd>3<\/dd>[\s\S]*<dd>0<\/dd>/);
  await outbox.lease(1, 0, -5);
  for (const id of [1n, 5n, 6n]) await outbox.postpone(id, -5, undefined);
  expect(await panel()).toMatch(/<dd>2<\/dd>[\s\S]*<dd>1<\/dd>[\s\S]*changes list --failed/);
});

test("an order that cannot be read is a row of its own among the others, and its page says what is wrong", async () => {
  const { orders, ...rest } = createMemoryStore();
  const problem = 'The record of order 128 is damaged: {"id":128,<b>';
  let isRepaired = false;
  const isDamaged = (id: bigint) => id === 128n && !isRepaired;
  const page: OrderStore["page"] = async (query) => {
    const found = await orders.page(query);
    const readable = found.orders.filter(({ record }) => !isDamaged(record.id));
    const damaged = readable.length < found.orders.length ? [{ id: 128n, problem }] : [];
    return { ...found, orders: readable, damaged };
  };
  const find: OrderStore["find"] = async (id) => {
    if (isDamaged(id)) throw new DamagedOrderError(problem);
    return orders.find(id);
  };
  console = await useSession({ store: { ...rest, orders: { ...orders, page, find } } });
  await fill(orders);
  const first = await get("orders");
  expect(first.rows).toEqual(IDS.toReversed().slice(0, 50).map(String));
  expect(first.text).toMatch(/<tr id="order-128"[\s\S]*?>damaged</);
  const last = await get("orders?before=79");
  expect(last.rows).toEqual(first.rows);
  const { status, text } = await get("orders/128");
  expect(status).toBe(200);
  expect(text).toContain("The record of order 128 is damaged: {&quot;id&quot;:128,&lt;b&gt;");
  isRepaired = true;
  expect((await get("orders")).text).toMatch(/<tr id="order-128"(?:(?!<\/tr>)[\s\S])*just now/);
});
