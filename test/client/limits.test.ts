import { afterEach, describe, expect, test } from "vitest";
import type { IssuedKey } from "../../lib/accounts/accounts.ts";
import { type ClientOptions, createClient } from "../../lib/client/index.ts";
import { type NodeServer, startNodeServer } from "../../lib/node/server.ts";
import type { PlanAssignment } from "../../lib/plans/plan-limits.ts";
import { MINUTE_MS } from "../../lib/plans/windows.ts";
import { createHandlerFixture, NOON } from "../http/fixture.ts";
import { createVirtualTime } from "./virtual-time.ts";

let server: NodeServer | undefined;
afterEach(() => server?.close({ graceMs: 0 }));

/** The service behind a real server. Its clock and the client's advance only while no request is in progress. */
async function serve({
  plan = "free",
  customLimits,
  skewMs = 0,
  ...options
}: Partial<ClientOptions> & Partial<PlanAssignment> & { skewMs?: number } = {}) {
  const virtual = createVirtualTime();
  const { clock, sleep, during } = virtual;
  const service = await createHandlerFixture({ clock, plan, ...(customLimits && { customLimits }) });
  const responses: { readonly at: number; readonly status: number; readonly banned: boolean }[] = [];
  const { url, close } = await startNodeServer({
    port: 0,
    async handler(request, context) {
      const response = await service.handler(request, context);
      const { status, headers } = response;
      const banned = service.events.at(-1)?.errorCode === "api_key_banned";
      if (request.headers.get("authorization")?.endsWith(service.key) === true)
        responses.push({ at: clock(), status, banned });
      headers.set("date", new Date(clock()).toUTCString());
      return response;
    },
  });
  server = { url, close, refusedConnections: 0 };

  /** Reads the complete response, so that time can be stopped until its last byte. */
  const fetchFully = async (address: string, init: RequestInit) => {
    const response = await fetch(address, init);
    const body = response.status === 204 ? null : await response.arrayBuffer();
    return new Response(body, { status: response.status, headers: response.headers });
  };
  const newClient = (apiKey = service.key) =>
    createClient({
      baseUrl: `${url}/v1`,
      apiKey,
      clock: () => clock() + skewMs,
      sleep,
      random: () => 0.5,
      fetch: (address, init) => during(fetchFully(address, init)),
      ...options,
    });

  /** Sends requests with another key of the same account, unknown to the client under test. */
  async function sendWithAnotherKey(requests: number) {
    const { key } = (await service.issued()) as IssuedKey;
    for (let number = 0; number < requests; number++) {
      const headers = { authorization: `Bearer ${key}` };
      await during(fetchFully(`${url}/v1/store/orders/77`, { method: "DELETE", headers }));
    }
  }

  return { ...service, ...virtual, responses, client: newClient(), newClient, sendWithAnotherKey };
}

function runTenTasks(cancel: (id: bigint) => Promise<unknown>, ordersPerTask: number): Promise<unknown> {
  return Promise.all(
    Array.from({ length: 10 }, async (_, task) => {
      for (let number = 0; number < ordersPerTask; number++)
        await cancel(BigInt(1_000 + task * ordersPerTask + number));
    }),
  );
}

/** The responses to requests that were sent after a 429 and before its wait was over. */
function sentTooEarly(
  responses: readonly { at: number; status: number }[],
  waitUntil: (at: number) => number,
) {
  return responses.flatMap(({ at, status }, index) =>
    status === 429 ? responses.slice(index + 1).filter((later) => later.at < waitUntil(at)) : [],
  );
}
const nextMinute = (at: number) => at - (at % MINUTE_MS) + MINUTE_MS;

describe("ten concurrent tasks on the Free plan", () => {
  test("200 calls finish within three minutes and without a 429", async () => {
    const { client, run, responses, store, time } = await serve();
    const ids = Array.from({ length: 200 }, (_, index) => BigInt(1_000 + index));
    await store.orders.place(ids.map((id) => ({ record: { id }, status: "pending" })));
    const results: unknown[] = [];
    await run(runTenTasks(async (id) => results.push(await client.cancel(id)), 20));
    expect(results).toEqual(Array(200).fill({ ok: true }));
    expect(responses.map(({ status }) => status)).toEqual(Array.from({ length: 200 }, () => 204));
    expect(time.now - NOON).toBe(3 * MINUTE_MS);
  });

  test("a client clock that is wrong by an hour makes no difference", async () => {
    for (const skewMs of [-60 * MINUTE_MS, 60 * MINUTE_MS]) {
      const { client, run, responses, time } = await serve({ skewMs });
      await run(runTenTasks((id) => client.cancel(id), 7));
      expect(responses.map(({ status }) => status)).toEqual(Array.from({ length: 70 }, () => 404));
      expect(time.now - NOON).toBe(MINUTE_MS);
      await server?.close();
    }
  });

  test("if another key uses up the quota, the client gets 429s once and then waits", async () => {
    const { client, run, responses, sendWithAnotherKey, time } = await serve();
    let calls = 0;
    await run(
      runTenTasks(async (id) => {
        if (++calls === 15) await sendWithAnotherKey(60);
        await client.cancel(id);
      }, 12),
    );
    const rejected = responses.filter(({ status }) => status === 429);
    expect(rejected.length).toBeGreaterThan(0);
    expect(rejected.length).toBeLessThanOrEqual(6);
    expect(new Set(rejected.map(({ at }) => at)).size).toBe(1);
    expect(sentTooEarly(responses, nextMinute).filter(({ status }) => status !== 429)).toEqual([]);
    expect(responses.filter(({ status }) => status === 404)).toHaveLength(120);
    expect(time.now - NOON).toBeLessThanOrEqual(3 * MINUTE_MS);
  });

  test("three processes that share a key are not banned", async () => {
    const { newClient, run, responses } = await serve({ maxAttempts: 10 });
    const processes = [newClient(), newClient(), newClient()];
    await run(Promise.all(processes.map((client) => runTenTasks((id) => client.cancel(id), 7))));
    expect(responses.filter(({ banned }) => banned)).toEqual([]);
    expect(responses.filter(({ status }) => status === 404)).toHaveLength(210);
  });
});

test("a list that is being read does not block other calls and counts as one request", async () => {
  const { client, run, responses } = await serve();
  const list = client.list();
  await run(list.next());
  await run(client.cancel(1n));
  await run(list.next());
  expect(responses.map(({ status }) => status)).toEqual([200, 204]);
});
