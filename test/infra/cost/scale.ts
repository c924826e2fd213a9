import { type Curve, drawPicture } from "../../support/picture.ts";
import { LIMITS, type Limit, type Load, listCost, monthCost } from "./limits.ts";
import type { Measured } from "./measure.ts";
import { QUOTAS } from "./quotas.ts";
import { dollars, type Rows } from "./tables.ts";

const REQUESTS = [1e3, 1e6, 1e9];
const ORDERS = [1e4, 1e5, 1e6, 1e7, 1e8];

/** For each load: the limit of which it takes most, where that limit ends, the cost, and the next step. */
export function scaleRows(measured: Measured, ratio: number): Rows {
  const rows = ORDERS.flatMap((orders) =>
    REQUESTS.map((requestsAMonth) => {
      const load = { requestsAMonth, orders };
      const list = listCost(measured, ratio, orders);
      const [limit, share] = tightestLimit(measured, ratio, load);
      const reached = limit.ofRequests
        ? `${rounded(requestsAMonth / share)} requests`
        : `${rounded(orders / share)} orders`;
      const cost = dollars(monthCost(measured, load, list));
      const next = share > 1 ? limit.next : "";
      return [count(orders), count(requestsAMonth), limit.name, percent(share), reached, cost, next];
    }),
  );
  const header = [
    "orders",
    "requests a month",
    "the first limit",
    "used at the peak",
    "reached at",
    "a month costs",
    "next step",
  ];
  return [header, ...rows];
}

/** Which limit a load takes most of, and which share of it. */
export function tightestLimit(measured: Measured, ratio: number, load: Load): readonly [Limit, number] {
  const list = listCost(measured, ratio, load.orders);
  const shares = LIMITS.map((limit) => [limit, limit.share(load, list)] as const);
  return shares.reduce((most, each) => (each[1] > most[1] ? each : most));
}

/** Draws how many requests a month each limit allows, by the number of orders. */
export function drawScale(measured: Measured, ratio: number): string {
  const allowed = LIMITS.filter(({ ofRequests }) => ofRequests).map(
    ({ name, share }): Curve => ({
      label: name.split(",")[0]?.replaceAll("`", "") ?? "",
      points: ORDERS.map((orders) => {
        const list = listCost(measured, ratio, orders);
        return { at: orders, value: 1e6 / share({ requestsAMonth: 1e6, orders }, list) };
      }),
    }),
  );
  const values = allowed.flatMap(({ points }) => points.map(({ value }) => value));
  const longest = QUOTAS.streamBytes / listCost(measured, ratio, 1).bytes;
  const end: Curve = {
    label: `200 MB: ${rounded(longest)} orders`,
    points: [
      { at: longest, value: Math.max(...values) },
      { at: longest, value: Math.min(...values) },
    ],
  };
  const panel = {
    title: "requests a month that fit, by number of orders",
    unit: "at the peak",
    curves: [...allowed, end],
  };
  return drawPicture(
    [panel],
    "The requests a month that each limit allows, by number of orders; the table has the figures",
  );
}

function percent(share: number): string {
  return share < 0.01 ? "< 1 %" : `${count(Number((share * 100).toPrecision(2)))} %`;
}

function rounded(value: number): string {
  return count(Number(value.toPrecision(2)));
}

function count(value: number): string {
  return value.toLocaleString("en-US");
}
