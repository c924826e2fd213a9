import { expect, onTestFinished, test } from "vitest";
import { skipsWithoutPostgres, startPostgres } from "../support/postgres/server.ts";
import { type InjectedFault, reconcile, runUnderFaults } from "./mixed-requests.ts";
import { type ServedPostgres, servePostgres } from "./postgres/fixture.ts";
import { createRandom, reportFigures } from "./run.ts";

const SECONDS = 12;
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
  async () => {
    const server = await startPostgres();
    onTestFinished(() => server.remove());
    await using service = await servePostgres(server, ORDERS);
    const until = performance.now() + SECONDS * 1_000;
    const { tally, admitted, injected, total } = await runUnderFaults(
      service.send,
      faultsOf(service),
      {
        ...{ orders: ORDERS, width: WIDTH, requests: Number.POSITIVE_INFINITY },
        stopped: () => performance.now() > until,
      },
      { requests: createRandom("requests of PostgreSQL"), faults: createRandom("faults of PostgreSQL") },
    );
    expect(service.process.exitCode, "the service has not ended").toBeNull();
    // While a fault delays all responses, the server closes connections that wait for the next request.
    expect(tally.unanswered).toBeLessThan(WIDTH);

    const figures = await reconcile(service.store, tally, ORDERS);
    const counted = (await service.store.accounts.find("shop"))?.usage.minute.count ?? 0;
    expect(counted).toBeGreaterThanOrEqual(admitted - (injected[CRASH] ?? 0) * WIDTH);
    const unanswered = tally.unavailable + tally.incompleteLists + tally.unanswered;
    expect(counted, "a request without a response may be counted").toBeLessThanOrEqual(admitted + unanswered);
    reportFigures("faults of PostgreSQL", {
      "seconds under faults": SECONDS,
      "injected faults": total,
      ...figures,
      "admitted / counted": `${admitted} / ${counted}`,
    });
  },
);
