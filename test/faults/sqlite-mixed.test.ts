import { expect, test } from "vitest";
import { mixedRun, reconcile, wasAdmitted } from "./mixed-run.ts";
import { orderAt, untilServed } from "./requester.ts";
import { choices, tell } from "./run.ts";
import { injectFaults } from "./sqlite/fault-injector.ts";
import { servedShop } from "./sqlite/fixture.ts";

test("under faults of every kind in a SQLite file, each 204 is one cancelled order, and each counted request was admitted", async () => {
  const sizes = { orders: 1_000, requests: 8_000 };
  const chosen = choices("faults of a SQLite file");
  await using shop = await servedShop(sizes.orders);
  let over = false;
  let others = 0;
  const askAnother = async () => {
    const told = await shop.ask("DELETE", orderAt(-1));
    if (wasAdmitted(told)) others++;
    return told;
  };
  const deeds = injectFaults(shop, choices("deeds"), {
    recovered: () => untilServed(askAnother),
    stopped: () => over,
  });
  const running = mixedRun(shop.ask, chosen, { ...sizes, width: 16 }).finally(() => {
    over = true;
  });
  const [tally, done] = await Promise.all([running, deeds]);
  expect((await untilServed(askAnother)).status, "serves on").toBe(404);

  await shop.inspect(async (store) => {
    const figures = await reconcile(store, tally, sizes.orders);
    const counted = (await store.accounts.find("shop"))?.usage.minute.count ?? 0;
    // No answer is lost between the file and its process: who was not told of a count was not counted.
    expect(counted).toBe(tally.admitted + others);
    tell("faults of a SQLite file", {
      "requests under faults": sizes.requests,
      "faults put in": Object.values(done).reduce((sum, times) => sum + times, 0),
      ...figures,
      "admitted and told so / counted": `${tally.admitted + others} / ${counted}`,
    });
  });
});
