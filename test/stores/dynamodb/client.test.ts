import { createServer } from "node:http";
import type { Socket } from "node:net";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { StoreUnavailableError } from "../../../lib/core/errors.ts";
import { createRetryStrategy, send } from "../../../lib/stores/dynamodb/client.ts";
import {
  createDynamodbStore,
  createDynamodbTables,
  deleteDynamodbTables,
} from "../../../lib/stores/dynamodb/index.ts";
import type { Store } from "../../../lib/stores/store.ts";
import { GARBLED } from "../../support/dynamodb/fault-responses.ts";
import { pointTo } from "../../support/dynamodb/point-to.ts";
import { type DynamodbProxy, startProxy } from "../../support/dynamodb/proxy.ts";
import { listenOn } from "../../support/free-port.ts";

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

test.each([
  ["ProvisionedThroughputExceededException", "DynamoDB throttles the requests to the table 'shop-orders'."],
  ["ThrottlingException", "DynamoDB throttles the requests to the table 'shop-orders'."],
  ["RequestLimitExceeded", "DynamoDB throttles the requests to the table 'shop-orders'."],
  [
    "ResourceNotFoundException",
    expect.stringMatching(/^The DynamoDB table 'shop-orders' does not exist\. Check/),
  ],
  ["NotAThrottlingException", "DynamoDB is unreachable or timed out."],
  ["TimeoutError", "DynamoDB is unreachable or timed out."],
])("a request that fails with %s rejects as unavailable, with the reason", async (name, message) => {
  const cause = Object.assign(new Error("From DynamoDB."), { name });
  const failing = send(() => Promise.reject(cause), "shop-orders");
  await expect(failing).rejects.toMatchObject({ code: "store_unavailable", retryable: true, message, cause });
});

test.each([
  ["AccessDeniedException", "AWS denies the request."],
  ["KMSInvalidStateException", "AWS cannot use the key"],
  ["KMSAccessDeniedException", "AWS cannot use the key"],
  ["ExpiredTokenException", "AWS rejects the credentials."],
  ["InvalidSignatureException", "AWS rejects the credentials."],
  ["UnrecognizedClientException", "AWS rejects the credentials."],
  ["MissingAuthenticationTokenException", "AWS rejects the credentials."],
  ["CredentialsProviderError", "The configuration of AWS is incomplete."],
])(
  "%s is no outage: the error says what to correct, and that a repetition does not help",
  async (name, message) => {
    const cause = Object.assign(new Error("From AWS."), { name });
    await expect(send(() => Promise.reject(cause), "shop-orders")).rejects.toMatchObject({
      ...{ code: "store_unavailable", retryable: false, message: expect.stringContaining(message), cause },
    });
  },
);

test("a table that is missing is named if it is known", async () => {
  const cause = Object.assign(new Error("From DynamoDB."), { name: "ResourceNotFoundException" });
  const message = "DynamoDB is unreachable or timed out.";
  await expect(send(() => Promise.reject(cause))).rejects.toMatchObject({ message, cause });
});

test.each([
  "ConditionalCheckFailedException",
  "ResourceInUseException",
  "SerializationException",
  "ValidationException",
])(
  "a request that fails with %s, which says something about the request, rejects with this error",
  async (name) => {
    const error = Object.assign(new Error("From DynamoDB."), { name });
    await expect(send(() => Promise.reject(error), "shop-orders")).rejects.toBe(error);
  },
);

test("a request is repeated after up to 1 and 2 seconds if it is throttled, otherwise after up to 50 and 100 ms", async () => {
  const strategy = createRetryStrategy({ retryThrottled: true });
  const random = vi.spyOn(Math, "random").mockReturnValue(0.5);
  const delays = async (errorType: "THROTTLING" | "TRANSIENT") => {
    const first = await strategy.acquireInitialRetryToken("");
    const second = await strategy.refreshRetryTokenForRetry(first, { errorType });
    const third = await strategy.refreshRetryTokenForRetry(second, { errorType });
    return [first, second, third].map((token) => token.getRetryDelay());
  };
  expect(await delays("THROTTLING")).toEqual([0, 500, 1_000]);
  expect(await delays("TRANSIENT")).toEqual([0, 25, 50]);
  random.mockRestore();
});

test("a response that says when to repeat a request is obeyed, within the time of a call", async () => {
  let headers = {};
  let times: number[] = [];
  const server = createServer((_request, response) => {
    times.push(performance.now());
    response.writeHead(times.length === 1 ? 503 : 400, headers).end("{}");
  });
  pointTo(`http://127.0.0.1:${await listenOn(server)}`);
  const asked = createDynamodbStore({ prefix: "asked" });
  const waits = async (given: Readonly<Record<string, string>>) => {
    [headers, times] = [given, []];
    await expect(asked.orders.find(1n)).rejects.toMatchObject({ code: "store_unavailable" });
    return times.slice(1).map((time) => time - (times[0] ?? 0));
  };
  expect((await waits({ "x-amz-retry-after": "700" }))[0]).toBeGreaterThan(690);
  expect((await waits({ "retry-after": "1" }))[0]).toBeGreaterThan(990);
  // Longer than a call may take.
  expect(await waits({ "retry-after": "60" })).toEqual([]);
  await asked.close();
  server.close();
});

test("a request without a response is repeated after 1.5 seconds", async () => {
  engine.chooseFault = ({ attempt }) => (attempt === 1 ? "hang" : "deny");
  const began = performance.now();
  await expect(store.orders.find(1n)).rejects.toMatchObject({
    ...{ code: "store_unavailable", cause: { name: "AccessDeniedException" } },
  });
  const elapsed = performance.now() - began;
  expect(elapsed).toBeGreaterThan(1_400);
  expect(elapsed).toBeLessThan(3_900);
});

/** Calls of every kind. */
const callsOf = ({
  accounts,
  orders,
  outbox = expect.fail(),
  check,
}: Store): readonly (() => Promise<unknown>)[] => [
  () => accounts.resetUsage("acme"),
  () => accounts.find("acme"),
  () => accounts.create({ id: "acme", plan: "free", keys: [] }),
  () => accounts.delete("acme"),
  () => accounts.admit(KEY, AT),
  () => accounts.list()[Symbol.asyncIterator]().next(),
  () => orders.find(1n),
  () => orders.apply(1n, "cancel", AT),
  () => orders.place([{ record: { id: 1n }, status: "pending" }]),
  () => orders.list()[Symbol.asyncIterator]().next(),
  () => orders.page({ order: "asc", limit: 9 }),
  () => orders.countByStatus(),
  () => outbox.list("waiting", 9),
  () => outbox.backlog(),
  () => outbox.isOn(),
  () => check(),
];

test("a response that DynamoDB would never send is an outage", async () => {
  engine.chooseFault = () => "garble";
  // A page of HTML, an empty response, and others that are no object or lack what each has.
  for (const call of callsOf(store))
    for (let response = 0; response < GARBLED.length; response++)
      await expect(call(), `${call} ${response}`).rejects.toMatchObject({ code: "store_unavailable" });
});

test("each call ends once its time is over, also with a client that has no timeouts and never gets a response", async () => {
  engine.chooseFault = () => "hang";
  const client = new DynamoDBClient();
  const over = AbortSignal.abort(new DOMException("The time is over.", "TimeoutError"));
  const timeout = vi.spyOn(AbortSignal, "timeout").mockReturnValue(over);
  for (const call of callsOf(createDynamodbStore({ prefix: "silent", client })))
    await expect(call(), `${call}`).rejects.toMatchObject({ code: "store_unavailable" });
  timeout.mockRestore();
  client.destroy();
});

test("creating and deleting tables says if DynamoDB throttles it", async () => {
  engine.chooseFault = () => "throttle";
  const client = new DynamoDBClient({ maxAttempts: 1 });
  for (const change of [createDynamodbTables, deleteDynamodbTables])
    await expect(change({ prefix: "throttled", client })).rejects.toMatchObject({
      ...{ code: "store_unavailable", message: "DynamoDB throttles the requests." },
    });
  client.destroy();
});

test("a store that is closed has finished its calls, and closed its connections", async () => {
  const connections = new Set<Socket>();
  let requests = 0;
  // Otherwise the server would close them.
  const server = createServer({ keepAliveTimeout: 0 }, (_request, response) => {
    requests++;
    setTimeout(() => response.writeHead(400).end("{}"), 50);
  });
  server.on("connection", (socket) => {
    connections.add(socket);
    socket.on("close", () => connections.delete(socket));
  });
  pointTo(`http://127.0.0.1:${await listenOn(server)}`);
  const closing = createDynamodbStore({ prefix: "closing" });
  const list = () => closing.orders.list()[Symbol.asyncIterator]().next();
  for (const call of [() => closing.orders.find(1n), () => closing.accounts.admit(KEY, AT), list])
    await expect(call()).rejects.toMatchObject({ code: "store_unavailable" });
  expect(connections.size).toBeGreaterThan(0);
  let isSettled = false;
  closing.orders.find(1n).catch(() => {
    isSettled = true;
  });
  await expect.poll(() => requests).toBe(4);
  await closing.close();
  expect([isSettled, requests]).toEqual([true, 4]);
  await expect.poll(() => connections.size).toBe(0);
  server.close();
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
  // A repetition that succeeds costs nothing.
  const first = await strategy.acquireInitialRetryToken("");
  strategy.recordSuccess(await strategy.refreshRetryTokenForRetry(first, { errorType: "TRANSIENT" }));
  expect(await attempts("TRANSIENT")).toBe(2);
});
