import { expect, onTestFinished, test, vi } from "vitest";
import { StoreUnavailableError } from "../../../lib/core/errors.ts";
import { createAccountBackOff } from "../../../lib/stores/dynamodb/account-back-off.ts";
import { createRetryStrategy } from "../../../lib/stores/dynamodb/client.ts";

const THROTTLED = new StoreUnavailableError("DynamoDB throttles the requests.", {
  cause: Object.assign(new Error("Slow down."), { name: "ProvisionedThroughputExceededException" }),
});

function setUp() {
  const clock = { now: 1_000_000 };
  const send = createAccountBackOff(() => clock.now);
  /** The number of calls that one request makes if so many are throttled. */
  const callsOf = async (
    accountId: string,
    throttled = Number.POSITIVE_INFINITY,
    error: Error = THROTTLED,
  ) => {
    let calls = 0;
    const request = async () => {
      if (++calls <= throttled) throw error;
    };
    const code = await send(accountId, request).then(
      () => "done",
      (thrown: Error) => (thrown instanceof StoreUnavailableError ? "unavailable" : "failed"),
    );
    return `${calls} ${code}`;
  };
  return { clock, callsOf };
}

test("a request that is throttled is repeated at most three times", async () => {
  const { callsOf } = setUp();
  expect(await callsOf("acme", 0)).toBe("1 done");
  expect(await callsOf("acme", 3)).toBe("4 done");
  expect(await callsOf("acme")).toBe("4 unavailable");
});

test("an account that keeps being throttled pauses up to 5 seconds without a call, and other accounts do not", async () => {
  const { clock, callsOf } = setUp();
  expect(await callsOf("hot")).toBe("4 unavailable");
  for (const pauseMs of [200, 400, 800, 1_600, 3_200, 5_000, 5_000]) {
    clock.now += pauseMs - 1;
    expect(await callsOf("hot", 0)).toBe("0 unavailable");
    expect(await callsOf("quiet", 1)).toBe("2 done");
    clock.now += 1;
    expect(await callsOf("hot")).toBe("1 unavailable");
  }
  clock.now += 5_000;
  expect(await callsOf("hot", 0)).toBe("1 done");
  expect(await callsOf("hot")).toBe("1 unavailable");
  clock.now += 5_000 + 30_000;
  expect(await callsOf("hot")).toBe("4 unavailable");
});

test("an account pauses for as long as a response asks for, up to 5 seconds, and is not asked again before", async () => {
  const { clock, callsOf } = setUp();
  const strategy = createRetryStrategy({ retryThrottled: false });
  for (const [account, asked, pauseMs] of [
    ["short", 3_000, 2_900] as const,
    ["long", 60_000, 4_900] as const,
  ]) {
    const error = Object.assign(new Error("Slow down."), {
      name: "ThrottlingException",
      cause: new Error("Busy."),
    });
    const retryAfterHint = new Date(Date.now() + asked);
    const token = await strategy.acquireInitialRetryToken("");
    const options = { errorType: "THROTTLING", error, retryAfterHint } as const;
    await expect(strategy.refreshRetryTokenForRetry(token, options)).rejects.toThrow("no further");
    expect(await callsOf(account, 1, new StoreUnavailableError("", { cause: error }))).toBe("1 unavailable");
    clock.now += pauseMs;
    expect(await callsOf(account, 0)).toBe("0 unavailable");
    clock.now += 100;
    expect(await callsOf(account, 0)).toBe("1 done");
  }
});

test("a clock that is set back a year prolongs no pause", async () => {
  vi.useFakeTimers({ toFake: ["Date", "performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const send = createAccountBackOff(undefined, async () => {});
  await expect(send("hot", () => Promise.reject(THROTTLED))).rejects.toThrow("throttles");
  await expect(send("hot", async () => "sent")).rejects.toThrow("throttles");
  vi.setSystemTime(Date.now() - 365 * 86_400_000);
  vi.advanceTimersByTime(200);
  expect(await send("hot", async () => "sent")).toBe("sent");
});

test("of requests that are throttled at once, one begins a pause", async () => {
  const { clock, callsOf } = setUp();
  await Promise.all([callsOf("hot"), callsOf("hot"), callsOf("hot")]);
  clock.now += 200;
  expect(await callsOf("hot", 0)).toBe("1 done");
});

test("another error is neither repeated nor the begin of a pause", async () => {
  const { callsOf } = setUp();
  expect(await callsOf("acme", 1, new StoreUnavailableError("timed out"))).toBe("1 unavailable");
  expect(await callsOf("acme", 1, new RangeError("wrong"))).toBe("1 failed");
  expect(await callsOf("acme", 0)).toBe("1 done");
});

test("the pauses of at most 1,000 accounts are known", async () => {
  const { callsOf } = setUp();
  await Promise.all(Array.from({ length: 1_001 }, (_, index) => callsOf(`hot-${index}`)));
  const calls = await Promise.all(Array.from({ length: 1_001 }, (_, index) => callsOf(`hot-${index}`, 0)));
  expect(calls.filter((call) => call === "1 done")).toHaveLength(1);
});

test("the accounts whose pauses are known are those that were throttled last", async () => {
  const { clock, callsOf } = setUp();
  await callsOf("first");
  await Promise.all(Array.from({ length: 999 }, (_, index) => callsOf(`hot-${index}`)));
  clock.now += 200;
  expect(await callsOf("first")).toBe("1 unavailable");
  await callsOf("one more");
  expect(await callsOf("first", 0)).toBe("0 unavailable");
});
