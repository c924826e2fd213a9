import { describe, expect, onTestFinished, test, vi } from "vitest";
import { StoreUnavailableError } from "../../../lib/core/errors.ts";
import { createAccountBackOff } from "../../../lib/stores/dynamodb/account-back-off.ts";

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

describe("on a partition that takes 1,000 writes a second, with 3,000 requests a second of one account", () => {
  const PROCESSES = 3;
  const SECONDS = 10;
  const CALL_MS = 5;
  const PER_MS = 1;

  /** Simulates the requests of a hot account and 200 a second of others, each of another account, in virtual time. */
  async function simulate(backsOff: boolean) {
    const time = virtualTime();
    const partition = { tokens: 1_000, at: 0 };
    const write = async () => {
      await time.sleep(CALL_MS);
      partition.tokens = Math.min(1_000, partition.tokens + (time.now() - partition.at) * PER_MS);
      partition.at = time.now();
      if (partition.tokens < 1) throw THROTTLED;
      partition.tokens--;
    };
    const wait = (attempt: number, baseMs = 1) =>
      time.sleep(Math.random() * Math.min(100, baseMs * 2 ** attempt));
    const processes = Array.from({ length: PROCESSES }, () => createAccountBackOff(time.now, wait));
    const outcomes = { hot: 0, quiet: 0, hotDone: 0, quietDone: 0 };
    const request = async (kind: "hot" | "quiet", index: number) => {
      await time.sleep(Math.random() * 1_000 * SECONDS);
      // The first second uses what the partition has kept for bursts.
      const counts = time.now() > 1_000;
      const send = backsOff ? processes[index % PROCESSES] : undefined;
      const accountId = kind === "hot" ? "hot" : `quiet-${index}`;
      const isDone = await (send === undefined ? write() : send(accountId, write)).then(
        () => true,
        () => false,
      );
      if (!counts) return;
      outcomes[kind]++;
      if (isDone) outcomes[`${kind}Done`]++;
    };
    for (let index = 0; index < 3_000 * SECONDS; index++) void request("hot", index);
    for (let index = 0; index < 200 * SECONDS; index++) void request("quiet", index);
    await time.run();
    return { hot: outcomes.hotDone / outcomes.hot, quiet: outcomes.quietDone / outcomes.quiet };
  }

  test("others are admitted, whereas without backing off two of three would fail", async () => {
    const without = await simulate(false);
    const withBackOff = await simulate(true);
    process.stderr.write(`hot partition: ${JSON.stringify({ without, withBackOff })}\n`);
    expect(without.quiet).toBeLessThan(0.5);
    expect(withBackOff.quiet).toBeGreaterThan(0.98);
    // The hot account still gets a share of its partition, of which a third of its requests would be all.
    expect(withBackOff.hot).toBeGreaterThan(0.1);
  });
});

/** A clock and timers that advance at once to the next timer. */
function virtualTime() {
  let now = 0;
  const timers = new Map<number, (() => void)[]>();
  return {
    now: () => now,
    sleep: (ms: number) =>
      new Promise<void>((resolve) => {
        const at = Math.ceil(now + ms);
        timers.set(at, [...(timers.get(at) ?? []), resolve]);
      }),
    async run() {
      for (; timers.size > 0; now++) {
        const due = (timers.get(now) ?? [])
          .map((resolve) => ({ resolve, order: Math.random() }))
          .sort((a, b) => a.order - b.order);
        timers.delete(now);
        for (const { resolve } of due) resolve();
        if (due.length > 0) await new Promise(setImmediate);
      }
    },
  };
}
