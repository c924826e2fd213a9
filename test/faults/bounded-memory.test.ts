import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import type { AccountStore } from "../../lib/accounts/account-store.ts";
import { createAccounts } from "../../lib/accounts/accounts.ts";
import { createAnonymousCallers } from "../../lib/accounts/anonymous-callers.ts";
import { generateKey } from "../../lib/accounts/api-key.ts";
import { withRejectionCache } from "../../lib/accounts/rejection-cache.ts";
import { createHandler } from "../../lib/http/handler.ts";
import { NodeResponse, startNodeServer } from "../../lib/node/index.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import { createSqliteStore } from "../../lib/stores/sqlite/index.ts";
import type { Store } from "../../lib/stores/store.ts";
import { openShop } from "../http/fixture.ts";
import { openSocket } from "../support/http/raw-connection.ts";
import { figuresOf } from "./load/growth.ts";
import { type Memory, memoryNow } from "./load/memory.ts";
import { tell } from "./run.ts";

const CALLERS = 1_000_000;
const folder = mkdtempSync(join(tmpdir(), "store-orders-flood-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** As many networks as a process remembers (decision 12). */
const REMEMBERED = 50_000;

/** Every fourth one is IPv6, of a network of its own. */
function addressOf(caller: number): string {
  if (caller % 4 === 0) return `2001:db8:${(caller >> 16).toString(16)}:${(caller & 0xffff).toString(16)}::1`;
  return `10.${(caller >> 16) & 255}.${(caller >> 8) & 255}.${caller & 255}`;
}

test(`${CALLERS} bad keys from as many addresses leave nothing behind`, async () => {
  const shop = await openShop();
  const handler = createHandler({ store: shop.store, clock: () => shop.time.now, Response: NodeResponse });
  const request = new Request("http://localhost/v1/store/orders/1", { method: "DELETE" });
  const memory: Memory[] = [];
  for (let caller = 1; caller <= CALLERS; caller++) {
    // Whole keys with the right checksum: the store has to be asked for each, and knows some of the accounts.
    const account = caller % 2 === 0 ? "shop" : `a${caller.toString(36)}`;
    request.headers.set("authorization", `Bearer ${generateKey("test", account)}`);
    const { status } = await handler(request, { address: addressOf(caller) });
    if (status !== 401) expect.fail(`caller ${caller} got ${status}`);
    if (caller >= REMEMBERED && caller % (CALLERS / 10) === 0) memory.push(await memoryNow());
  }
  tell("bounded memory", { "bad keys from as many addresses": CALLERS, ...figuresOf(memory) });
});

test("of 50,000 networks each is remembered; one more makes the first forgotten", () => {
  const callers = createAnonymousCallers();
  const left = () => callers.peek(addressOf(0), 0).remaining;
  for (let caller = 0; caller < REMEMBERED; caller++) callers.count(addressOf(caller), 0);
  expect(left()).toBe(59);
  callers.count(addressOf(REMEMBERED), 0);
  expect(left()).toBe(60);
  tell("bounded memory", { "networks that are remembered at a time": REMEMBERED });
});

/** The accounts of a store, with when each was asked to let somebody in. */
function counted(accounts: AccountStore) {
  const asked: number[] = [];
  const counting: AccountStore = {
    ...accounts,
    admit(key, at, ...rest) {
      asked.push(at);
      return accounts.admit(key, at, ...rest);
    },
  };
  return { asked, remembering: withRejectionCache(counting) };
}

/** The least time between two of them, in milliseconds. */
function leastGap(instants: readonly number[]): number {
  return Math.min(...instants.slice(1).map((instant, at) => instant - (instants[at] ?? 0)));
}

const terms = { plan: "enterprise", customLimits: { perMinute: 1, perDay: 1_000 } } as const;

test("a flood on a banned key asks the store once a second at most in each process, for as long as the ban lasts", async () => {
  const store = createMemoryStore();
  const shop = await openShop({ store, terms });
  const processes = [counted(store.accounts), counted(store.accounts)].map(({ asked, remembering }) => ({
    asked,
    handler: createHandler({
      store: { orders: store.orders, accounts: remembering },
      clock: () => shop.time.now,
      Response: NodeResponse,
    }),
  }));
  const request = new Request("http://localhost/v1/store/orders", {
    headers: { authorization: `Bearer ${shop.key}` },
  });
  const send = async (handler: (typeof shop)["handler"]) =>
    JSON.parse(await (await handler(request)).text()).code;
  for (const { handler } of processes) for (let sent = 0; sent < 30; sent++) await send(handler);

  const seconds = 14 * 60;
  let refused = 0;
  for (const { asked } of processes) asked.length = 0;
  for (let millisecond = 0; millisecond < seconds * 1_000; millisecond += 4) {
    shop.time.now += 4;
    for (const { handler } of processes) {
      expect(await send(handler)).toBe("api_key_banned");
      refused++;
    }
  }
  for (const { asked } of processes) {
    expect(asked.length).toBeLessThanOrEqual(seconds + 1);
    expect(leastGap(asked)).toBeGreaterThanOrEqual(1_000);
  }
  tell("bounded memory", {
    "requests with a banned key, in virtual time": refused,
    "seconds of that": seconds,
    "store calls for them, in two processes": processes.map(({ asked }) => asked.length).join(" and "),
  });
});

test("so does one over sockets, on a database and the machine's own clock", async () => {
  const store: Store = createSqliteStore({ path: join(folder, "flood.db") });
  const accounts = createAccounts({ store: store.accounts, environment: "test" });
  await accounts.create("shop", terms);
  const issued = await accounts.issueKey("shop");
  if ("refused" in issued) throw new Error(issued.refused);
  const { asked, remembering } = counted(store.accounts);
  const handler = createHandler({
    store: { orders: store.orders, accounts: remembering },
    Response: NodeResponse,
  });
  const server = await startNodeServer({ handler, port: 0 });
  const request = `GET /v1/store/orders HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${issued.key}\r\n\r\n`;
  const line = () => {
    const opened = openSocket(server.url);
    let sent = 0;
    return async (times: number) => {
      opened.send(request.repeat(times));
      sent += times;
      const { answers } = await opened.answers(sent);
      expect(answers).toHaveLength(sent);
      return answers.at(-1)?.body ?? "";
    };
  };
  const first = line();
  while (!(await first(10)).includes("api_key_banned"));

  asked.length = 0;
  const began = performance.now();
  const seconds = 10;
  let refused = 0;
  const flood = async (send: (times: number) => Promise<string>) => {
    while (performance.now() - began < seconds * 1_000) {
      expect(await send(50)).toContain("api_key_banned");
      refused += 50;
    }
  };
  await Promise.all(Array.from({ length: 8 }, () => flood(line())));
  const passed = (performance.now() - began) / 1_000;
  await server.close();
  await store.close();
  expect(asked.length).toBeLessThanOrEqual(Math.ceil(passed) + 1);
  expect(leastGap(asked)).toBeGreaterThanOrEqual(1_000);
  tell("bounded memory", {
    "requests with a banned key, over sockets on SQLite": refused,
    "seconds that they took": passed.toFixed(1),
    "store calls for those": asked.length,
  });
});
