import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { afterEach, describe, expect, test, vi } from "vitest";
import { StoreUnavailableError } from "../../../lib/core/errors.ts";
import { CALL_TIMEOUT_MS } from "../../../lib/core/time.ts";
import { createDynamodbStore } from "../../../lib/stores/dynamodb/index.ts";
import { pointTo } from "../../support/dynamodb/point-to.ts";
import { startProxy } from "../../support/dynamodb/proxy.ts";

const AT = Date.UTC(2026, 10, 20, 12);
const KEY = { accountId: "acme", hash: "1".repeat(64) };

afterEach(() => vi.unstubAllEnvs());

describe("an unavailable engine", () => {
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
});
