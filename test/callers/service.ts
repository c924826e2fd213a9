import { createServer } from "node:http";
import { createAccounts, type IssuedKey } from "../../lib/accounts/accounts.ts";
import { createHandler } from "../../lib/http/handler.ts";
import { toNodeHandler } from "../../lib/node/index.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import { listenOn } from "../support/free-port.ts";

/** A request that a caller has sent, by the clock of the service. */
export interface Hit {
  readonly at: number;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly startsBan: boolean;
}

const START = Date.UTC(2026, 10, 20, 12) + 3_000;
/**
 * The service with a clock that a test moves, or `isMoving` by itself. Beside it, `/429/told` and `/429/untold` always answer
 * 429, with `Retry-After: toldSeconds` and without.
 */
export async function startService({ toldSeconds = 40, isMoving = false } = {}) {
  const always429: Record<string, Record<string, string>> = {
    "/429/told": { "retry-after": `${toldSeconds}` },
    "/429/untold": {},
  };
  const startedAt = performance.now();
  let moved = START;
  const time = {
    get now() {
      return moved + (isMoving ? Math.round(performance.now() - startedAt) : 0);
    },
    set now(at: number) {
      moved = at;
    },
  };
  const hits: Hit[] = [];
  let inFlight = 0;
  const store = createMemoryStore();
  const clock = () => time.now;
  const accounts = createAccounts({ store: store.accounts, environment: "test", clock });
  const handler = createHandler({
    store,
    clock,
    onRequest: ({ method, path = "", status, startsBan = false }) =>
      void hits.push({ at: time.now, method, path, status, startsBan }),
  });
  await store.orders.place([{ record: { id: 1n }, status: "shipped" }]);
  const serve = toNodeHandler(handler);
  const server = createServer((request, response) => {
    const { url = "", method = "" } = request;
    inFlight++;
    response.once("close", () => inFlight--);
    const [path = "", to] = url.split("?to=");
    const headers = always429[path];
    if (path === "/clock") {
      time.now = Math.max(time.now, Math.ceil(Number(to)));
      response.end();
    } else if (headers !== undefined) {
      hits.push({ at: time.now, method, path, status: 429, startsBan: false });
      const reset = `${Math.ceil(time.now / 1000) + 40}`;
      const limits = { "x-ratelimit-limit": "60", "x-ratelimit-remaining": "0", "x-ratelimit-reset": reset };
      response.writeHead(429, { ...limits, ...headers, "content-type": "application/json" });
      response.end('{"code":"rate_limit_exceeded","message":"","status":429}');
    } else serve(request, response);
  });
  let issued = 0;
  return {
    url: `http://127.0.0.1:${await listenOn(server)}`,
    time,
    hits,
    inFlight: () => inFlight,
    /** A key of a new account, in a new minute. */
    async issueKey(): Promise<string> {
      time.now += 120_000 - (time.now % 60_000) + 3_000;
      const id = `caller-${issued++}`;
      await accounts.create(id, { plan: "free" });
      return ((await accounts.issueKey(id)) as IssuedKey).key;
    },
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

export type Service = Awaited<ReturnType<typeof startService>>;

/** What a caller does, by the requests that it sent. */
export interface Behaviour {
  readonly repeats: string;
  readonly waits: string;
  /** The first wait without `Retry-After`, in seconds; `undefined` if the request is not repeated. */
  readonly untoldSeconds: number | undefined;
  /** The seconds from the first 429 to the ban; `undefined` without one. */
  readonly series: number | undefined;
  readonly parallel: number | undefined;
}

export const SCENARIOS = ["get", "delete", "untold", "series", "parallel"] as const;
export type Scenario = (typeof SCENARIOS)[number];

export function behaviourOf(hits: Readonly<Record<Scenario, readonly Hit[]>>, toldSeconds = 40): Behaviour {
  const secondsBetween = (from: Hit | undefined, to: Hit | undefined) =>
    from === undefined || to === undefined ? undefined : (to.at - from.at) / 1000;
  const banAfter = (scenario: readonly Hit[]) =>
    secondsBetween(
      scenario.find(({ status }) => status === 429),
      scenario.find(({ startsBan }) => startsBan),
    );
  const [get, cancel] = [hits.get.length > 1, hits.delete.length > 1];
  const wait = secondsBetween(hits.get[0], hits.get[1]);
  return {
    repeats: get === cancel ? (get ? "yes" : "no") : get ? "GET only" : "DELETE only",
    waits:
      wait === undefined
        ? "–"
        : wait >= toldSeconds
          ? "yes"
          : wait >= 10
            ? `at most ${Math.round(wait)} s`
            : "no",
    untoldSeconds: secondsBetween(hits.untold[0], hits.untold[1]),
    series: banAfter(hits.series),
    parallel: banAfter(hits.parallel),
  };
}
