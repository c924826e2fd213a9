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
import { startNodeServer } from "../../lib/node/index.ts";
import { MINUTE_MS } from "../../lib/plans/windows.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import { createSqliteStore } from "../../lib/stores/sqlite/index.ts";
import type { Store } from "../../lib/stores/store.ts";
import { createHandlerFixture } from "../http/fixture.ts";
import { openSocket } from "../support/http/raw-connection.ts";
import { memoryFigures } from "./load/growth.ts";
import { type Memory, memoryNow } from "./load/memory.ts";
import { reportFigures } from "./run.ts";

const CALLERS = 1_000_000;
const folder = mkdtempSync(join(tmpdir(), "store-orders-flood-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** The number of networks that a process tracks. */
const MAX_NETWORKS = 50_000;

/** The address of a caller; every fourth one is IPv6, in its own /48. */
function addressOf(caller: number): string {
  if (caller % 4 === 0) return `2001:${(caller >> 16).toString(16)}:${(caller & 0xffff).toString(16)}::1`;
  return `10.${(caller >> 16) & 255}.${(caller >> 8) & 255}.${caller & 255}`;
}

test(`memory does not grow with ${CALLERS} unknown keys from as many addresses`, async () => {
  const fixture = await createHandlerFixture();
  const handler = createHandler({
    store: fixture.store,
    clock: () => fixture.time.now,
  });
  const request = new Request("http://localhost/v1/store/orders/1", { method: "DELETE" });
  const memory: Memory[] = [];
  for (let caller = 1; caller <= CALLERS; caller++) {
    // Keys with a valid checksum need a store call each; the store knows some of the accounts.
    const account = caller % 2 === 0 ? "shop" : `a${caller.toString(36)}`;
    request.headers.set("authorization", `Bearer ${generateKey("test", account)}`);
    // Fewer callers in a minute than networks are tracked: those above share one counter.
    if (caller % (MAX_NETWORKS / 2) === 0) fixture.time.now += MINUTE_MS;
    const { status } = await handler(request, { address: addressOf(caller) });
    if (status !== 401) expect.fail(`caller ${caller} got ${status}`);
    if (caller >= MAX_NETWORKS && caller % (CALLERS / 10) === 0) memory.push(await memoryNow());
  }
  reportFigures("bounded memory", {
    "unknown keys from as many addresses": CALLERS,
    ...memoryFigures(memory),
  });
});

test("the count of a caller survives 50,000 others in the same minute", () => {
  const callers = createAnonymousCallers();
  const remaining = (caller: number) => callers.peek(addressOf(caller), 0).remaining;
  for (let caller = 0; caller < 3 * MAX_NETWORKS; caller++) callers.count(addressOf(caller), 0);
  expect([remaining(0), remaining(1), remaining(MAX_NETWORKS)]).toEqual([59, 59, 0]);
  reportFigures("bounded memory", { "networks tracked at a time": MAX_NETWORKS });
});

/** Records when `admit` of an account store is called, behind a rejection cache. */
function recordCalls(accounts: AccountStore) {
  const calls: number[] = [];
  const recording: AccountStore = {
    ...accounts,
    admit(key, at, ...rest) {
      calls.push(at);
      return accounts.admit(key, at, ...rest);
    },
  };
  return { calls, cached: withRejectionCache(recording) };
}

/** The shortest time between two instants, in milliseconds. */
function minGap(instants: readonly number[]): number {
  return Math.min(...instants.slice(1).map((instant, at) => instant - (instants[at] ?? 0)));
}

const plan = { plan: "enterprise", customLimits: { perMinute: 1, perDay: 1_000 } } as const;

test("a flood with a banned key calls the store at most once a second in each process", async () => {
  const store = createMemoryStore();
  const fixture = await createHandlerFixture({ store, ...plan });
  const processes = [recordCalls(store.accounts), recordCalls(store.accounts)].map(({ calls, cached }) => ({
    calls,
    handler: createHandler({
      store: { ...store, accounts: cached },
      cacheRejections: false,
      clock: () => fixture.time.now,
    }),
  }));
  const request = new Request("http://localhost/v1/store/orders", {
    headers: { authorization: `Bearer ${fixture.key}` },
  });
  const send = async (handler: (typeof fixture)["handler"]) =>
    JSON.parse(await (await handler(request)).text()).code;
  for (const { handler } of processes) for (let sent = 0; sent < 30; sent++) await send(handler);

  const seconds = 14 * 60;
  let rejected = 0;
  for (const { calls } of processes) calls.length = 0;
  for (let millisecond = 0; millisecond < seconds * 1_000; millisecond += 4) {
    fixture.time.now += 4;
    for (const { handler } of processes) {
      expect(await send(handler)).toBe("api_key_banned");
      rejected++;
    }
  }
  for (const { calls } of processes) {
    expect(calls.length).toBeLessThanOrEqual(seconds + 1);
    expect(minGap(calls)).toBeGreaterThanOrEqual(1_000);
  }
  reportFigures("bounded memory", {
    "requests with a banned key, in virtual time": rejected,
    "seconds of virtual time": seconds,
    "store calls for them, in two processes": processes.map(({ calls }) => calls.length).join(" and "),
  });
});

test("a flood with a banned key over sockets calls SQLite at most once a second", async () => {
  const store: Store = createSqliteStore({ path: join(folder, "flood.db") });
  const accounts = createAccounts({ store: store.accounts, environment: "test" });
  await accounts.create("shop", plan);
  const issued = await accounts.issueKey("shop");
  if (!issued.ok) throw new Error(issued.code);
  const { calls, cached } = recordCalls(store.accounts);
  const handler = createHandler({
    store: { ...store, accounts: cached },
    cacheRejections: false,
  });
  const server = await startNodeServer({ handler, port: 0 });
  const request = `GET /v1/store/orders HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${issued.key}\r\n\r\n`;
  const startFlooding = () => {
    const connection = openSocket(server.url);
    let sent = 0;
    return async (times: number) => {
      connection.send(request.repeat(times));
      sent += times;
      const { responses } = await connection.responses(sent);
      expect(responses).toHaveLength(sent);
      return responses.at(-1)?.body ?? "";
    };
  };
  const first = startFlooding();
  while (!(await first(10)).includes("api_key_banned"));

  calls.length = 0;
  const startedAt = performance.now();
  const seconds = 10;
  let rejected = 0;
  const flood = async (send: (times: number) => Promise<string>) => {
    while (performance.now() - startedAt < seconds * 1_000) {
      expect(await send(50)).toContain("api_key_banned");
      rejected += 50;
    }
  };
  await Promise.all(Array.from({ length: 8 }, () => flood(startFlooding())));
  const elapsedSeconds = (performance.now() - startedAt) / 1_000;
  await server.close();
  await store.close();
  expect(calls.length).toBeLessThanOrEqual(Math.ceil(elapsedSeconds) + 1);
  expect(minGap(calls)).toBeGreaterThanOrEqual(1_000);
  reportFigures("bounded memory", {
    "requests with a banned key, over sockets on SQLite": rejected,
    "seconds that they took": elapsedSeconds.toFixed(1),
    "store calls for them, on SQLite": calls.length,
  });
});
