import { renameSync, rmSync, statSync } from "node:fs";
import { expect, test } from "vitest";
import { SCHEMA_VERSION } from "../../lib/stores/sqlite/schema.ts";
import { type InjectedFault, injectFaults } from "./inject-faults.ts";
import { reconcile, runMixedRequests, wasAdmitted } from "./mixed-requests.ts";
import { orderAt, retryWhileUnavailable } from "./requester.ts";
import { createRandom, reportFigures } from "./run.ts";
import { limitFiles, reasonToSkip } from "./sqlite/disk-limit.ts";
import { type ServedDatabase, serveDatabase } from "./sqlite/fixture.ts";
import { holdLock } from "./sqlite/lock.ts";

function faultsOf({ path, process, executeOutside }: ServedDatabase): Record<string, InjectedFault> {
  const faults: Record<string, InjectedFault> = {
    async "held by another process"(pause) {
      const lock = holdLock(path);
      await pause();
      lock.release();
    },

    async "full disk"(pause) {
      limitFiles(process.pid, statSync(`${path}-wal`).size);
      await pause();
      limitFiles(process.pid, "unlimited");
    },

    async "newer schema"(pause) {
      executeOutside("PRAGMA user_version = 99");
      await pause();
      executeOutside(`PRAGMA user_version = ${SCHEMA_VERSION}`);
    },

    async "moved away"(pause) {
      renameSync(path, `${path}.away`);
      await pause();
      renameSync(`${path}.away`, path);
    },

    async "log deleted"() {
      rmSync(`${path}-wal`);
    },
  };
  if (reasonToSkip() !== undefined) delete faults["full disk"];
  return faults;
}

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
  const faults = injectFaults(faultsOf(service), createRandom("faults"), {
    recovered: () => retryWhileUnavailable(sendOther),
    stopped: () => isDone,
  });
  const running = runMixedRequests(service.send, random, { ...sizes, width: 16 }).finally(() => {
    isDone = true;
  });
  const [tally, faultCounts] = await Promise.all([running, faults]);
  expect((await retryWhileUnavailable(sendOther)).status, "still serves").toBe(404);

  await service.inspect(async (store) => {
    expect(tally.unanswered).toBe(0);
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
