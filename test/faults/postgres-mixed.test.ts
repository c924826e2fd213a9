import { expect, test } from "vitest";
import { type PostgresServer, skipsWithoutPostgres, startPostgres } from "../support/postgres/server.ts";
import { type InjectedFault, injectFaults } from "./inject-faults.ts";
import { reconcile, runMixedRequests, wasAdmitted } from "./mixed-requests.ts";
import { type ServedPostgres, servePostgres } from "./postgres/fixture.ts";
import { orderAt, retryWhileUnavailable } from "./requester.ts";
import { createRandom, reportFigures, type SeededRandom } from "./run.ts";

const ROUND_SECONDS = 20;
/** For a longer run: ROUNDS=45 npm run test:faults -- test/faults/postgres-mixed.test.ts */
const ROUNDS = Number(process.env["ROUNDS"] ?? 1);
const WIDTH = 16;
const ORDERS = 1_000;

/** A crash of the server can lose the counts of requests that change no order, of the last second. */
const CRASH = "server crashes";

function faultsOf({ server, proxy, role, sql, endSessions }: ServedPostgres): Record<string, InjectedFault> {
  const during = (fault: Parameters<typeof proxy.inject>[0]) => async (pause: () => Promise<void>) => {
    proxy.inject(fault);
    await pause();
    proxy.inject("none");
  };
  return {
    [CRASH]: async (pause) => {
      await server.crash();
      await pause();
      await server.start();
    },
    "sessions ended": endSessions,
    "connections refused": during("refuse"),
    "no response": during("hang"),
    "response to COMMIT lost": during("lose response"),
    "COMMIT lost": during("lose request"),
    "account locked": () =>
      sql("BEGIN; SELECT FROM store_orders.accounts FOR UPDATE; SELECT pg_sleep(0.1); COMMIT"),
    async "table not readable"(pause) {
      await sql(`REVOKE SELECT ON store_orders.orders FROM ${role}`);
      await pause();
      await sql(`GRANT SELECT ON store_orders.orders TO ${role}`);
    },
  };
}

test.skipIf(skipsWithoutPostgres("mixed load and faults on PostgreSQL"))(
  "under faults of every kind on PostgreSQL, each 204 is one cancelled order, and every admitted cancel is counted",
  { timeout: ROUNDS * 2 * ROUND_SECONDS * 1_000 + 120_000 },
  async () => {
    const random = createRandom("mixed requests on PostgreSQL");
    const randomFaults = createRandom("faults of PostgreSQL");
    const server = await startPostgres();
    try {
      for (let round = 0; round < ROUNDS; round++) await runRound(server, random, randomFaults);
    } finally {
      await server.remove();
    }
  },
);

async function runRound(server: PostgresServer, random: SeededRandom, randomFaults: SeededRandom) {
  await using service = await servePostgres(server, ORDERS);
  let isDone = false;
  let others = 0;
  const sendOther = async () => {
    const response = await service.send("DELETE", orderAt(-1));
    if (wasAdmitted(response)) others++;
    return response;
  };
  const faults = injectFaults(faultsOf(service), randomFaults, {
    recovered: () => retryWhileUnavailable(sendOther),
    stopped: () => isDone,
  });
  const until = performance.now() + ROUND_SECONDS * 1_000;
  const running = runMixedRequests(service.send, random, {
    ...{ orders: ORDERS, width: WIDTH, requests: Number.POSITIVE_INFINITY },
    stopped: () => performance.now() > until,
  }).finally(() => {
    isDone = true;
  });
  const [tally, faultCounts] = await Promise.all([running, faults]);
  expect((await retryWhileUnavailable(sendOther)).status, "still serves").toBe(404);

  expect(service.process.exitCode, "the service has not ended").toBeNull();
  // While a fault delays all responses, the server closes connections that wait for the next request.
  expect(tally.unanswered).toBeLessThan(WIDTH);

  const figures = await reconcile(service.store, tally, ORDERS);
  const counted = (await service.store.accounts.find("shop"))?.usage.minute.count ?? 0;
  const admitted = tally.admitted + others;
  expect(counted).toBeGreaterThanOrEqual(admitted - (faultCounts[CRASH] ?? 0) * WIDTH);
  const unanswered = tally.unavailable + tally.incompleteLists + tally.unanswered;
  expect(counted, "a request without a response may be counted").toBeLessThanOrEqual(admitted + unanswered);
  reportFigures("faults of PostgreSQL", {
    "seconds under faults": ROUND_SECONDS,
    "injected faults": Object.values(faultCounts).reduce((sum, times) => sum + times, 0),
    ...figures,
    "admitted / counted": `${admitted.toLocaleString("en")} / ${counted.toLocaleString("en")}`,
  });
}
