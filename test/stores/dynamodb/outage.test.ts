import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { afterEach, describe, expect, test, vi } from "vitest";
import { StoreUnavailableError } from "../../../lib/core/errors.ts";
import { CALL_TIMEOUT_MS } from "../../../lib/core/time.ts";
import { createDynamodbStore, createDynamodbTables } from "../../../lib/stores/dynamodb/index.ts";
import { startEmulator } from "../../support/dynamodb/emulator.ts";
import { pointTo } from "../../support/dynamodb/point-to.ts";
import { startProxy } from "../../support/dynamodb/proxy.ts";

const AT = Date.UTC(2026, 10, 20, 12);
const KEY = { accountId: "acme", hash: "1".repeat(64) };

afterEach(() => vi.unstubAllEnvs());

describe("an unavailable engine", () => {
  test("calls fail as unavailable while the engine is stopped, and succeed once it runs again", async () => {
    const directory = await mkdtemp(join(tmpdir(), "store-orders-"));
    let emulator = await startEmulator("all-old", { directory });
    pointTo(emulator.endpoint);
    const store = createDynamodbStore({ prefix: "outage" });
    await createDynamodbTables({ prefix: "outage" });
    await store.accounts.create({
      id: "acme",
      plan: "business",
      keys: [{ id: "acme.first", hash: KEY.hash, createdAt: AT }],
    });

    const outcomes: string[] = [];
    let stopping = false;
    const traffic = Array.from({ length: 8 }, async () => {
      while (!stopping) {
        const outcome = await store.accounts.admit(KEY, AT).then(
          ({ ok }) => (ok ? "admitted" : "rejected"),
          (error) => (error instanceof StoreUnavailableError ? "unavailable" : String(error)),
        );
        if (outcomes.at(-1) !== outcome) outcomes.push(outcome);
      }
    });
    const waitFor = (outcome: string) => vi.waitUntil(() => outcomes.at(-1) === outcome, { timeout: 10_000 });
    await waitFor("admitted");
    await emulator.stop();
    await waitFor("unavailable");
    emulator = await startEmulator("all-old", { port: emulator.port, directory });
    await waitFor("admitted");
    stopping = true;
    await Promise.all(traffic);
    expect(new Set(outcomes)).toEqual(new Set(["admitted", "unavailable"]));

    await store.close();
    await emulator.stop();
    await rm(directory, { recursive: true });
  });

  test("calls fail as unavailable within 4.5 seconds if the engine accepts connections but never responds", async () => {
    const silentEngine = await startProxy();
    silentEngine.chooseFault = () => "hang";
    pointTo(silentEngine.endpoint);
    const store = createDynamodbStore({ prefix: "silent" });
    // The limit also applies to a client without timeouts.
    const withoutTimeouts = new DynamoDBClient();
    const began = performance.now();
    const calls = [store, createDynamodbStore({ prefix: "silent", client: withoutTimeouts })].flatMap(
      (store) => [
        store.accounts.admit(KEY, AT),
        store.orders.apply(1n, "cancel", AT),
        store.orders.list()[Symbol.asyncIterator]().next(),
        store.orders.place([{ record: { id: 1n }, status: "pending" }]),
      ],
    );
    const results = await Promise.allSettled(calls);
    for (const result of results) {
      expect(result).toMatchObject({ reason: expect.any(StoreUnavailableError) });
    }
    expect(performance.now() - began).toBeLessThan(CALL_TIMEOUT_MS + 2_000);
    await store.close();
    withoutTimeouts.destroy();
    await silentEngine.close();
  });

  test("a call fails as unavailable and names the table if the tables do not exist", async () => {
    const emulator = await startEmulator("as-is");
    pointTo(emulator.endpoint);
    const store = createDynamodbStore({ prefix: "nowhere" });
    await expect(store.accounts.admit(KEY, AT)).rejects.toMatchObject({
      code: "store_unavailable",
      message: expect.stringMatching(
        /^The DynamoDB table 'nowhere-accounts' does not exist\. Check the prefix/,
      ),
      cause: { name: "ResourceNotFoundException" },
    });
    await store.close();
    await emulator.stop();
  });
});
