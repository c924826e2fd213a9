import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { StoreUnavailableError } from "../../../lib/core/errors.ts";
import { createRetryStrategy } from "../../../lib/stores/dynamodb/client.ts";
import { createDynamodbStore } from "../../../lib/stores/dynamodb/index.ts";
import type { Store } from "../../../lib/stores/store.ts";
import { pointTo } from "../../support/dynamodb/point-to.ts";
import { type DynamodbProxy, startProxy } from "../../support/dynamodb/proxy.ts";

const AT = Date.UTC(2026, 10, 20, 12);
const KEY = { accountId: "acme", hash: "1".repeat(64) };

let engine: DynamodbProxy;
let store: Store;
beforeEach(async () => {
  engine = await startProxy();
  pointTo(engine.endpoint);
  store = createDynamodbStore({ prefix: "throttled" });
});
afterEach(async () => {
  await store.close();
  await engine.close();
  vi.unstubAllEnvs();
});

test("a throttled admission is tried four times and then not until a pause is over, another call three times", async () => {
  engine.chooseFault = () => "throttle";
  const attempts = async (work: Promise<unknown>) => {
    const error = await work.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(StoreUnavailableError);
    expect(error).toMatchObject({
      retryable: true,
      message: "DynamoDB throttles the requests to the table 'throttled-accounts'.",
      cause: { name: "ProvisionedThroughputExceededException" },
    });
    return engine.takeOperations().length;
  };
  expect(await attempts(store.accounts.admit(KEY, AT))).toBe(4);
  await expect(store.accounts.admit(KEY, AT)).rejects.toMatchObject({
    code: "store_unavailable",
    retryable: true,
  });
  expect(engine.takeOperations()).toEqual([]);
  expect(await attempts(store.accounts.resetUsage("acme"))).toBe(3);
});

test("throttling leaves the repetitions of other calls alone, and an outage uses them up", async () => {
  const strategy = createRetryStrategy({ retryThrottled: true });
  const attempts = async (errorType: "THROTTLING" | "TRANSIENT" | "CLIENT_ERROR") => {
    let token = await strategy.acquireInitialRetryToken("");
    for (let attempt = 1; ; attempt++) {
      const next = await strategy.refreshRetryTokenForRetry(token, { errorType }).catch(() => undefined);
      if (next === undefined) return attempt;
      token = next;
    }
  };
  for (let call = 0; call < 1_000; call++) expect(await attempts("THROTTLING")).toBe(3);
  expect(await attempts("CLIENT_ERROR")).toBe(1);
  expect(await attempts("TRANSIENT")).toBe(3);
  for (let call = 0; call < 20; call++) await attempts("TRANSIENT");
  expect(await attempts("TRANSIENT")).toBe(1);
  expect(await attempts("THROTTLING")).toBe(3);

  for (let call = 0; call < 14; call++) {
    strategy.recordSuccess(await strategy.acquireInitialRetryToken(""));
  }
  expect(await attempts("TRANSIENT")).toBe(2);
});
