import fc from "fast-check";
import { expect, test } from "vitest";
import { defineDomains } from "../../lib/domains/parse.ts";
import { hostTable } from "../../lib/domains/routing.ts";
import { createHandler } from "../../lib/http/handler.ts";
import { docsPage } from "../../lib/node/docs/docs-page.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import { createHandlerFixture } from "../http/fixture.ts";
import { expectDocumented } from "./abuse/expect-documented.ts";
import { type HostileRequest, hostileRequest } from "./abuse/requests.ts";
import { memoryFigures } from "./load/growth.ts";
import { type Memory, memoryNow } from "./load/memory.ts";
import { createRandom, reportFigures, seed } from "./run.ts";

const REQUESTS = 100_000;
const TENTH = REQUESTS / 10;

test(`${REQUESTS} hostile requests get only documented responses, and memory does not grow`, async () => {
  const store = createMemoryStore();
  const customLimits = { perMinute: 100, perDay: 10_000_000 };
  const fixture = await createHandlerFixture({ store, plan: "enterprise", customLimits });
  const primary = "orders.example.com";
  const hosts = hostTable(
    defineDomains({ primary, redirects: [{ from: "www.example.com", to: primary }] }, { plan: "pro" }),
    ["localhost"],
  );
  const handler = createHandler({
    store,
    clock: () => fixture.time.now,
    documents: docsPage(),
    hosts: () => hosts,
    banPolicy: { maxRejections: 20, durationMs: 2_000 },
    pets: async (id) => (id === 1n ? { id } : undefined),
  });
  const { pick, int, chance } = createRandom("hosts and addresses");
  const statuses = new Map<number, number>();
  const memory: Memory[] = [];
  let sent = 0;

  async function send({ method, path, headers, body }: HostileRequest): Promise<void> {
    const host = chance(0.9)
      ? "localhost"
      : pick([primary, "www.example.com", "evil.example.net", "[::1]:99"]);
    const request = new Request(`http://localhost${path}`, {
      method,
      headers: [["host", host], ...headers.map(([name, value]) => [name, value] as [string, string])],
      ...(body === undefined || method === "GET" || method === "HEAD" ? {} : { body }),
    });
    // About 200 requests per minute on the fixture's clock, so that limits are reached and reset.
    fixture.time.now += int(0, 400);
    const response = await handler(request, { address: `192.0.2.${int(0, 255)}`, host });
    const text = await response.text();
    const { pathname } = new URL(request.url);
    const isPage =
      /^\/(docs|openapi\.json)/.test(pathname) && response.headers.get("x-ratelimit-limit") === null;
    expectDocumented(
      { status: response.status, body: text, header: (name) => response.headers.get(name) },
      { isHead: method === "HEAD", isPage },
    );
    statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
    if (++sent % TENTH === 0) memory.push(await memoryNow());
  }

  await fc.assert(fc.asyncProperty(hostileRequest(fixture.key), send), {
    seed,
    numRuns: REQUESTS,
    endOnFailure: true,
  });

  for (const status of [200, 204, 301, 401, 404, 405, 421, 429])
    expect(statuses.has(status), `${status}`).toBe(true);
  expect(sent).toBe(REQUESTS);
  reportFigures("abuse of the handler", {
    "hostile requests with documented responses only, without a 500": sent,
    statuses: [...statuses]
      .toSorted()
      .map(([status, times]) => `${status}: ${times}`)
      .join(", "),
    ...memoryFigures(memory),
  });
});
