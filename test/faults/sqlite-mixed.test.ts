import { expect, test } from "vitest";
import { reconcile, runMixedRequests, wasAdmitted } from "./mixed-requests.ts";
import { orderAt, retryWhileUnavailable } from "./requester.ts";
import { createRandom, reportFigures } from "./run.ts";
import { injectFaults } from "./sqlite/fault-injector.ts";
import { serveDatabase } from "./sqlite/fixture.ts";

test("under faults of every kind in a SQLite file, each 204 is one cancelled order, and each counted request was admitted", async () => {
  const sizes = { orders: 1_000, requests: 8_000 };
  const random = createRandom("faults of a SQLite file");
  await using service = await serveDatabase(sizes.orders);
  let isDone = false;
  let others = 0;
  const sendOther = async () => {
    const response = await service.send("DELETE", orderAt(-1));
    if (wasAdmitted(response)) others++;
    return response;
  };
  const faults = injectFaults(service, createRandom("faults"), {
    recovered: () => retryWhileUnavailable(sendOther),
    stopped: () => isDone,
  });
  const running = runMixedRequests(service.send, random, { ...sizes, width: 16 }).finally(() => {
    isDone = true;
  });
  const [tally, faultCounts] = await Promise.all([running, faults]);
  expect((await retryWhileUnavailable(sendOther)).status, "still serves").toBe(404);

  await service.inspect(async (store) => {
    const figures = await reconcile(store, tally, sizes.orders);
    const counted = (await store.accounts.find("shop"))?.usage.minute.count ?? 0;
    // No response is lost between the file and its process, so every count has its response.
    expect(counted).toBe(tally.admitted + others);
    reportFigures("faults of a SQLite file", {
      "requests under faults": sizes.requests,
      "injected faults": Object.values(faultCounts).reduce((sum, times) => sum + times, 0),
      ...figures,
      "admitted / counted": `${tally.admitted + others} / ${counted}`,
    });
  });
});
