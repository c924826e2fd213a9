import { expect, test } from "vitest";
import { createTelemetry, LONG_LIST_ORDERS } from "../../../infra/functions/telemetry.ts";
import { planAlarms } from "../../../infra/observability/alarms.ts";
import type { OrderPage } from "../../../lib/orders/order-store.ts";
import { createMemoryStore } from "../../../lib/stores/memory.ts";

const PAGE_ORDERS = 200_000;
const PAGE = new Array(PAGE_ORDERS).fill('{"id":1}').join(",");

/** The values of the metric while so many pages are listed, of which the consumer reads some. */
async function listRows(pages: number, read: number): Promise<readonly number[]> {
  const rows: number[] = [];
  const telemetry = createTelemetry({
    namespace: "shop",
    write: (line) => rows.push((JSON.parse(line) as { ListRows: number }).ListRows),
  });
  const store = createMemoryStore();
  async function* list(): AsyncGenerator<OrderPage> {
    for (let page = 1; page <= pages; page++) yield { json: PAGE, last: page === pages };
  }
  let seen = 0;
  for await (const _page of telemetry
    .instrument({ ...store, orders: { ...store.orders, list } })
    .orders.list()) {
    if (++seen === read) break;
  }
  return rows;
}

test("a list emits its number of orders once it is complete, and a long one also while it is being sent", async () => {
  expect(await listRows(2, 2)).toEqual([2 * PAGE_ORDERS]);
  expect(await listRows(8, 8)).toEqual([6 * PAGE_ORDERS, 8 * PAGE_ORDERS]);
});

test("a list that the platform cuts off has triggered the alarm before, a short one that a client leaves has not", async () => {
  const monitored = {
    ...{ apiName: "", stageName: "", namespace: "shop", certificates: [] },
    functions: { list: "", api: "" },
    tables: { orders: "", accounts: "" },
  };
  const alarm = planAlarms(monitored).find(({ key }) => key === "list-size");
  expect(alarm).toMatchObject({ metricName: "ListRows", statistic: "Maximum", threshold: LONG_LIST_ORDERS });
  expect(Math.max(...(await listRows(40, 7)))).toBeGreaterThan(alarm?.threshold ?? Infinity);
  expect(await listRows(40, 5)).toEqual([]);
});
