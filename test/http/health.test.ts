import { afterEach, expect, test, vi } from "vitest";
import { StoreUnavailableError } from "../../lib/core/errors.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import { createHandlerFixture, factsOf, NOON } from "./fixture.ts";

afterEach(() => void vi.useRealTimers());

/** A service whose store counts its calls, and whose check is `check`. */
async function createCountedService(check: () => Promise<void> = async () => {}) {
  const memory = createMemoryStore();
  let calls = 0;
  const counted = <T extends object>(port: T): T =>
    new Proxy(port, {
      get(target, name, receiver) {
        calls++;
        return Reflect.get(target, name, receiver);
      },
    });
  const store = {
    ...memory,
    orders: counted(memory.orders),
    accounts: counted(memory.accounts),
    check() {
      calls++;
      return check();
    },
  };
  const service = await createHandlerFixture({ store, cacheRejections: false });
  calls = 0;
  return { ...service, calls: () => calls };
}

test("100 requests to each health check are all 200 with one store call a second, and count for nobody", async () => {
  const { send, calls, time } = await createCountedService();
  for (const elapsed of [0, 999, 1000]) {
    time.now = NOON + elapsed;
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, index) =>
        send("GET", index % 2 === 0 ? "/healthz" : "/readyz", { authorization: "" }),
      ),
    );
    for (const answer of answers) expect(answer).toMatchObject({ status: 200, text: '{"status":"ok"}' });
    expect(answers.some(({ headers }) => headers.has("x-ratelimit-limit"))).toBe(false);
    expect(calls()).toBe(elapsed === 1000 ? 2 : 1);
  }
  const anonymous = await send("GET", "/v1/store/orders", { authorization: "" });
  expect(anonymous.headers.get("x-ratelimit-remaining")).toBe("59");
});

test("readyz is 503 while the store fails, healthz stays 200, and the event has the reason", async () => {
  const failure = new StoreUnavailableError("The disk is gone.");
  let isDown = true;
  const { send, time, events } = await createCountedService(async () => {
    if (isDown) throw failure;
  });
  const down = await send("GET", "/readyz");
  expect(factsOf(down, "retry-after")).toEqual([503, "store_unavailable", expect.any(String)]);
  expect(down.text).not.toContain("disk");
  expect(events.at(-1)?.error).toBe(failure);
  expect((await send("GET", "/healthz")).status).toBe(200);
  isDown = false;
  time.now += 1000;
  expect((await send("GET", "/readyz")).status).toBe(200);
});

test("a clock that was set back does not keep an old result of readyz", async () => {
  const { send, time, calls } = await createCountedService();
  await send("GET", "/readyz");
  time.now -= 1;
  await send("GET", "/readyz");
  expect(calls()).toBe(2);
});

test("readyz is 503 if the store takes longer than a second, and recovers with it", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  let isSlow = true;
  const { send, time } = await createCountedService(() =>
    isSlow ? new Promise(() => {}) : Promise.resolve(),
  );
  const slow = send("GET", "/readyz");
  await vi.advanceTimersByTimeAsync(1_000);
  expect((await slow).status).toBe(503);
  isSlow = false;
  time.now += 1000;
  expect((await send("GET", "/readyz")).status).toBe(200);
});

test("a HEAD request to a health check has no body, and other methods are not routes", async () => {
  const { send } = await createCountedService();
  expect(await send("HEAD", "/readyz")).toMatchObject({ status: 200, text: "" });
  expect((await send("POST", "/healthz")).status).toBe(404);
  expect((await send("GET", "/healthz/")).status).toBe(404);
});
