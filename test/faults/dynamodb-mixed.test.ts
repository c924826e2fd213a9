import { expect, test } from "vitest";
import { startEmulator } from "../support/dynamodb/emulator.ts";
import type { Fault } from "../support/dynamodb/fault-responses.ts";
import type { ProxiedRequest } from "../support/dynamodb/proxy.ts";
import { proxiedShop } from "./dynamodb/fixture.ts";
import { mixedRun, reconcile } from "./mixed-run.ts";
import { orderAt } from "./requester.ts";
import { type Choices, choices, tell } from "./run.ts";

/** How often a request has a fault, in a thousand; a page that is short is nothing to fail on. */
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

function anyFault(chosen: Choices): (request: ProxiedRequest) => Fault {
  return ({ operation }) => {
    let drawn = chosen.int(0, 999);
    for (const [fault, rate] of RATES) {
      drawn -= rate;
      if (drawn < 0) return fault;
    }
    return operation === "Query" ? "shorten" : "pass";
  };
}

test("under faults of every kind, each 204 is one cancelled order, and no request is admitted without being counted", async () => {
  const sizes = { orders: 1_000, requests: 2_000 };
  const chosen = choices("faults of DynamoDB");
  const emulator = await startEmulator("all-old");
  {
    await using shop = await proxiedShop(emulator, sizes.orders);
    shop.proxy.chooseFault = anyFault(chosen);
    const tally = await mixedRun(shop.ask, chosen, { ...sizes, width: 24 });
    shop.proxy.chooseFault = () => "pass";

    const figures = await reconcile(shop.behind, tally, sizes.orders);
    const counted = (await shop.behind.accounts.find("shop"))?.usage.minute.count ?? 0;
    const { done, unanswered } = shop.proxy.writes.get(`${shop.prefix}-accounts`) ?? {
      done: 0,
      unanswered: 0,
    };
    expect(counted, "each write of the admission counts once").toBe(done);
    expect(counted).toBeGreaterThanOrEqual(tally.admitted);
    expect(counted).toBeLessThanOrEqual(tally.admitted + unanswered);
    expect((await shop.ask("DELETE", orderAt(0))).status, "serves on").toBeLessThan(500);

    const { pass, shorten, ...faults } = shop.proxy.faults;
    tell("faults of DynamoDB", {
      "requests under faults": sizes.requests,
      "faults put in": Object.values(faults).reduce((sum, had) => sum + had, 0),
      ...figures,
      "admitted and told so / counted / answers lost": `${tally.admitted} / ${counted} / ${unanswered}`,
    });
  }
  await emulator.stop();
});
