import { expect, test } from "vitest";
import { startEmulator } from "../support/dynamodb/emulator.ts";
import type { Fault } from "../support/dynamodb/fault-responses.ts";
import type { ProxiedRequest } from "../support/dynamodb/proxy.ts";
import { startProxiedService } from "./dynamodb/fixture.ts";
import { reconcile, runMixedRequests } from "./mixed-requests.ts";
import { orderAt } from "./requester.ts";
import { createRandom, reportFigures, type SeededRandom } from "./run.ts";

/** How many of a thousand requests have each fault. Every other query returns a short page, which is not a failure. */
const RATES: readonly (readonly [Fault, number])[] = [
  ["throttle", 30],
  ["error", 20],
  ["garble", 3],
  ["cut", 20],
  ["lose", 40],
  ["tear", 20],
  ["hang", 3],
  ["withhold", 3],
];

function chooseFault(random: SeededRandom): (request: ProxiedRequest) => Fault {
  return ({ operation }) => {
    let drawn = random.int(0, 999);
    for (const [fault, rate] of RATES) {
      drawn -= rate;
      if (drawn < 0) return fault;
    }
    return /Query|Scan/.test(operation) ? "shorten" : "pass";
  };
}

test("under faults of every kind, each 204 is one cancelled order, and no request is admitted without being counted", async () => {
  const sizes = { orders: 1_000, requests: 2_000 };
  const random = createRandom("faults of DynamoDB");
  const emulator = await startEmulator("all-old");
  {
    await using service = await startProxiedService(emulator, sizes.orders);
    service.proxy.chooseFault = chooseFault(random);
    const tally = await runMixedRequests(service.send, random, { ...sizes, width: 24 });
    service.proxy.chooseFault = () => "pass";

    expect(tally.unanswered).toBe(0);
    const figures = await reconcile(service.direct, tally, sizes.orders);
    const counted = (await service.direct.accounts.find("shop"))?.usage.minute.count ?? 0;
    const { done, unanswered } = service.proxy.writes.get(`${service.prefix}-accounts`) ?? {
      done: 0,
      unanswered: 0,
    };
    expect(counted, "each write of the admission counts once").toBe(done);
    expect(counted).toBeGreaterThanOrEqual(tally.admitted);
    expect(counted).toBeLessThanOrEqual(tally.admitted + unanswered);
    expect((await service.send("DELETE", orderAt(0))).status, "still serves").toBeLessThan(500);

    const { pass, shorten, ...faults } = service.proxy.faults;
    reportFigures("faults of DynamoDB", {
      "requests under faults": sizes.requests,
      "injected faults": Object.values(faults).reduce((sum, count) => sum + count, 0),
      ...figures,
      "admitted / counted / lost responses": `${tally.admitted} / ${counted} / ${unanswered}`,
    });
  }
  await emulator.stop();
});
