import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Figure, Spread } from "../figures.ts";
import { copyOf, FIRST_ID, makeShop, type Shop } from "../fixture.ts";
import { type Curve, growthPicture } from "../growth-picture.ts";
import type { Bench, Job } from "../job.ts";
import { download } from "../load/download.ts";
import { underLoad } from "../load/under-load.ts";
import { type Sample, type Samples, spreadIn, takeTurns } from "../rounds.ts";
import { contendersFor } from "../servers/candidates.ts";
import { start } from "../servers/server-process.ts";

const LIST = "/v1/store/orders";
/** The peer that does best at most jobs. */
const PEER = "fastify";
const PICTURE = new URL("../growth.svg", import.meta.url);

type OverOrders = Sample<"list" | "firstByte" | "cancel">;
type OverAccounts = Sample<"list" | "cancel">;

/** How the cost grows with the orders and with the accounts. */
export const growth: Job = {
  id: "growth",
  async run(bench) {
    const orders = bench.quick ? [100, 10_000] : [100, 10_000, 1_000_000];
    const accounts = bench.quick ? [1, 10] : [1, 10, 100];
    const byOrders = new Map<number, Samples<keyof OverOrders>>();
    for (const count of orders) byOrders.set(count, await overOrders(bench, count));
    const byAccounts = new Map<number, Samples<keyof OverAccounts>>();
    for (const count of accounts) byAccounts.set(count, await overAccounts(bench, count));

    const overOrdersOf = (who: string, name: keyof OverOrders) =>
      orders.map((at) => ({ at, value: spreadIn(byOrders.get(at) ?? new Map(), who, name).median }));
    const overAccountsOf = (who: string, name: keyof OverAccounts) =>
      accounts.map((at) => ({ at, value: spreadIn(byAccounts.get(at) ?? new Map(), who, name).median }));
    const curves = <Name extends string>(
      of: (who: string, name: Name) => Curve["points"],
      names: Readonly<Record<string, Name>>,
    ): readonly Curve[] =>
      Object.entries(names).flatMap(([label, name]) => [
        { label, points: of("ours", name), ours: true },
        { label: `${label}, ${PEER}`, points: of(PEER, name), ours: false },
      ]);
    const picture = growthPicture([
      {
        title: "over orders",
        unit: "ms",
        curves: curves(overOrdersOf, { "whole list": "list", "first byte": "firstByte", cancel: "cancel" }),
      },
      {
        title: "over accounts that call in turn",
        unit: "µs a request",
        curves: curves(overAccountsOf, { "list of 20": "list", "durable cancel": "cancel" }),
      },
    ]);
    if (!bench.quick) writeFileSync(PICTURE, picture);

    const figure = (what: string, unit: string, spread: (who: string) => Spread): Figure => ({
      what,
      unit,
      better: "less",
      ours: spread("ours"),
      peers: { [PEER]: spread(PEER) },
    });
    return {
      title: "Growth",
      figures: [
        ...(["list", "firstByte", "cancel"] as const).flatMap((name) =>
          orders.map((at) =>
            figure(`${ORDER_FIGURES[name]}, ${at.toLocaleString("en-US")} orders`, "ms", (who) =>
              spreadIn(byOrders.get(at) ?? new Map(), who, name),
            ),
          ),
        ),
        ...(["list", "cancel"] as const).flatMap((name) =>
          accounts.map((at) =>
            figure(`${ACCOUNT_FIGURES[name]}, accounts: ${at}`, "µs", (who) =>
              spreadIn(byAccounts.get(at) ?? new Map(), who, name),
            ),
          ),
        ),
      ],
      notes: [
        "Over orders: one request at a time, the median of many (of the first byte and the list of a million: of few). Over accounts: 32 connections whose keys take turns, microseconds of a request.",
      ],
    };
  },
};

const ORDER_FIGURES = {
  list: "whole list",
  firstByte: "first byte",
  cancel: "cancel, one at a time",
} as const;
const ACCOUNT_FIGURES = { list: "list of 20", cancel: "durable cancel" } as const;

/** One request at a time against a shop with so many orders. */
async function overOrders(bench: Bench, orders: number): Promise<Samples<keyof OverOrders>> {
  const shop = await makeShop(join(bench.folder, `orders-${orders}`), orders);
  const key = shop.keys[0] ?? "";
  const rounds = Math.min(bench.rounds, 3);
  return takeTurns(["ours", PEER], rounds, async (name, round) => {
    bench.tell(`growth: ${orders} orders, round ${round + 1} of ${rounds}, ${name}`);
    const server = await start(programOf(name, copyOf(shop, join(bench.folder, "round"))));
    try {
      const times = orders > 100_000 ? 3 : 30;
      const downloads = [];
      for (let time = 0; time < times; time++) downloads.push(await download(server.url + LIST, key));
      const cancels: number[] = [];
      for (let index = 0; index < 100; index++) cancels.push(await cancelTime(server.url, key, index));
      return {
        list: middle(downloads.map(({ total }) => total)),
        firstByte: middle(downloads.map(({ firstByte }) => firstByte)),
        cancel: middle(cancels),
      };
    } finally {
      await server.stop();
    }
  });
}

/** Load from so many accounts in turn. */
async function overAccounts(bench: Bench, accounts: number): Promise<Samples<keyof OverAccounts>> {
  const few = await makeShop(join(bench.folder, `few-${accounts}`), 20, accounts);
  const many = await makeShop(
    join(bench.folder, `many-${accounts}`),
    bench.quick ? 80_000 : 200_000,
    accounts,
  );
  const rounds = Math.min(bench.rounds, 3);
  return takeTurns(["ours", PEER], rounds, async (name, round) => {
    bench.tell(`growth: ${accounts} accounts, round ${round + 1} of ${rounds}, ${name}`);
    const short = { ...bench, seconds: 1 };
    const run = (shop: Shop, method: "GET" | "DELETE", target: { path: string; firstId?: number }) =>
      underLoad(short, programOf(name, copyOf(shop, join(bench.folder, "round"))), {
        method,
        ...target,
        keys: shop.keys,
      });
    const list = await run(few, "GET", { path: LIST });
    const cancel = await run(many, "DELETE", { path: `${LIST}/`, firstId: FIRST_ID });
    if (list.refused + cancel.refused > 0) throw new Error(`${name} refused requests.`);
    return { list: 1e6 / list.rate, cancel: 1e6 / cancel.rate };
  });
}

function programOf(name: string, shop: Shop) {
  const program = contendersFor(shop, { clockStep: 2 })[name];
  if (program === undefined) throw new Error(`Nobody is called ${name}.`);
  return program;
}

async function cancelTime(url: string, key: string, index: number): Promise<number> {
  const began = performance.now();
  const headers = { authorization: `Bearer ${key}` };
  const { status } = await fetch(`${url}${LIST}/${FIRST_ID + 1 + index}`, { method: "DELETE", headers });
  if (status !== 204) throw new Error(`A cancel was answered with ${status}.`);
  return performance.now() - began;
}

function middle(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
}
