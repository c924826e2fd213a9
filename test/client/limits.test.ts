import { afterEach, describe, expect, test } from "vitest";
import type { IssuedKey } from "../../lib/accounts/accounts.ts";
import { type ClientOptions, createClient, RateLimitedError } from "../../lib/client/index.ts";
import { type NodeServer, startNodeServer } from "../../lib/node/server.ts";
import type { PlanAssignment } from "../../lib/plans/plan-limits.ts";
import { DAY_MS, MINUTE_MS } from "../../lib/plans/windows.ts";
import { NOON, openShop } from "../http/fixture.ts";
import { createVirtualTime } from "./virtual-time.ts";

let server: NodeServer | undefined;
afterEach(() => server?.close({ grace: 0 }));

/** A shop behind a real server, both on a clock that moves only when no request is under way. */
async function serve({
  terms,
  skew = 0,
  ...options
}: Partial<ClientOptions> & { terms?: PlanAssignment; skew?: number } = {}) {
  const virtual = createVirtualTime();
  const { clock, sleep, during } = virtual;
  const shop = await openShop({ clock, ...(terms === undefined ? {} : { terms }) });
  const answers: { readonly at: number; readonly status: number; readonly banned: boolean }[] = [];
  const { url, close } = await startNodeServer({
    port: 0,
    async handler(request, context) {
      const response = await shop.handler(request, context);
      const { status, headers } = response;
      const banned = shop.events.at(-1)?.errorCode === "api_key_banned";
      if (request.headers.get("authorization")?.endsWith(shop.key) === true)
        answers.push({ at: clock(), status, banned });
      headers.set("date", new Date(clock()).toUTCString());
      return response;
    },
  });
  server = { url, close };

  /** Holds the time until the answer is there to its last byte. */
  const whole = async (address: string, init: RequestInit) => {
    const response = await fetch(address, init);
    const body = response.status === 204 ? null : await response.arrayBuffer();
    return new Response(body, { status: response.status, headers: response.headers });
  };
  const newClient = (apiKey = shop.key) =>
    createClient({
      baseUrl: `${url}/v1`,
      apiKey,
      clock: () => clock() + skew,
      sleep,
      random: () => 0.5,
      fetch: (address, init) => during(whole(address, init)),
      ...options,
    });

  /** Uses up requests of the account behind the client's back. */
  async function rival(requests: number) {
    const { key } = (await shop.issued()) as IssuedKey;
    for (let number = 0; number < requests; number++) {
      const headers = { authorization: `Bearer ${key}` };
      await during(whole(`${url}/v1/store/orders/77`, { method: "DELETE", headers }));
    }
  }

  return { ...shop, ...virtual, answers, client: newClient(), newClient, rival };
}

/** Ten tasks that cancel so many orders each, one after another. */
function tenTasks(cancel: (id: bigint) => Promise<unknown>, each: number): Promise<unknown> {
  return Promise.all(
    Array.from({ length: 10 }, async (_, task) => {
      for (let number = 0; number < each; number++) await cancel(BigInt(1_000 + task * each + number));
    }),
  );
}

const placed = (count: number) =>
  Array.from(
    { length: count },
    (_, index) => ({ record: { id: BigInt(1_000 + index) }, status: "pending" }) as const,
  );

/** Every refusal with what came after it, before its wait was over. */
function sentTooEarly(answers: readonly { at: number; status: number }[], wait: (at: number) => number) {
  return answers.flatMap(({ at, status }, index) =>
    status === 429 ? answers.slice(index + 1).filter((later) => later.at < wait(at)) : [],
  );
}
const nextMinute = (at: number) => at - (at % MINUTE_MS) + MINUTE_MS;

describe("a caller on the Free plan, from ten tasks at once", () => {
  test("does its work of 200 calls in three minutes, without a single refusal", async () => {
    const { client, run, answers, store, time } = await serve();
    await store.orders.place(placed(200));
    const outcomes: unknown[] = [];
    await run(tenTasks(async (id) => outcomes.push(await client.cancel(id)), 20));
    expect(outcomes).toEqual(Array.from({ length: 200 }, () => ({ outcome: "cancelled" })));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 200 }, () => 204));
    expect(time.now - NOON).toBe(3 * MINUTE_MS);
  });

  test("with a clock that is wrong by an hour it does not fare worse", async () => {
    for (const skew of [-60 * MINUTE_MS, 60 * MINUTE_MS]) {
      const { client, run, answers, time } = await serve({ skew });
      await run(tenTasks((id) => client.cancel(id), 10));
      expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 100 }, () => 404));
      expect(time.now - NOON).toBe(MINUTE_MS);
      await server?.close();
    }
  });

  test("where somebody else uses up the account, it is refused once and then waits", async () => {
    const { client, run, answers, rival, time } = await serve();
    let calls = 0;
    await run(
      tenTasks(async (id) => {
        if (++calls === 15) await rival(60);
        await client.cancel(id);
      }, 12),
    );
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThan(0);
    expect(refused.length).toBeLessThanOrEqual(6);
    expect(new Set(refused.map(({ at }) => at)).size).toBe(1);
    expect(sentTooEarly(answers, nextMinute).filter(({ status }) => status !== 429)).toEqual([]);
    expect(answers.filter(({ status }) => status === 404)).toHaveLength(120);
    expect(time.now - NOON).toBeLessThanOrEqual(3 * MINUTE_MS);
  });

  test("several processes on one key are not banned either", async () => {
    const { newClient, run, answers } = await serve({ maxAttempts: 10 });
    const processes = [newClient(), newClient(), newClient()];
    await run(Promise.all(processes.map((client) => tenTasks((id) => client.cancel(id), 10))));
    expect(answers.filter(({ banned }) => banned)).toEqual([]);
    expect(answers.filter(({ status }) => status === 404)).toHaveLength(300);
  });
});

test("with the day used up, a call is refused here and not sent", async () => {
  const { client, run, answers } = await serve({
    terms: { plan: "enterprise", customLimits: { perMinute: 50, perDay: 5 } },
  });
  for (let number = 0; number < 5; number++) await run(client.cancel(77n));
  const error = await run(client.cancel(77n).catch((thrown: unknown) => thrown));
  expect(error).toBeInstanceOf(RateLimitedError);
  expect(error).toMatchObject({ retryAt: NOON - (NOON % DAY_MS) + DAY_MS });
  expect(answers).toHaveLength(5);
});

test("with patience enough it goes on when the day is new", async () => {
  const { client, run, time, answers } = await serve({
    terms: { plan: "enterprise", customLimits: { perMinute: 50, perDay: 5 } },
    maxWaitMs: Infinity,
  });
  await run(tenTasks((id) => client.cancel(id), 1));
  expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 404));
  expect(time.now).toBe(NOON - (NOON % DAY_MS) + DAY_MS);
});

test("a wait that the call in all has no time for is not begun", async () => {
  const { client, run, time, answers } = await serve({ totalTimeoutMs: 5_000 });
  await run(tenTasks((id) => client.cancel(id), 6));
  await expect(run(client.cancel(77n))).rejects.toBeInstanceOf(RateLimitedError);
  expect(time.now).toBe(NOON);
  expect(answers).toHaveLength(60);
});

test("a list that is being read holds nobody up, and counts as one request", async () => {
  const { client, run, answers } = await serve();
  const list = client.list();
  await run(list.next());
  await run(client.cancel(1n));
  await run(list.next());
  expect(answers.map(({ status }) => status)).toEqual([200, 204]);
});
