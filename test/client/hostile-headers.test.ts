import { describe, expect, test } from "vitest";
import { RateLimitedError } from "../../lib/client/index.ts";
import { DAY_MS, MINUTE_MS } from "../../lib/plans/windows.ts";
import { NOON } from "../http/fixture.ts";
import { errorResponse, openAfter, readAll, rejection } from "./fixture.ts";

describe("Retry-After", () => {
  test.each(["86401", "999999999999", "9".repeat(400), "Fri, 31 Dec 9999 23:59:59 GMT"])(
    "a wait of %s is limited to a day",
    async (retryAfter) => {
      const first = errorResponse(429, "rate_limit_exceeded", { "retry-after": retryAfter });
      const { client, run, time } = await openAfter(first);
      for (let call = 0; call < 2; call++) {
        const error = await run(rejection(client.cancel(1n)));
        expect(error).toBeInstanceOf(RateLimitedError);
        expect(error).toMatchObject({ retryAt: NOON + DAY_MS });
      }
      time.now += DAY_MS;
      expect(await run(client.cancel(1n))).toEqual({ ok: true });
    },
  );

  test("a client without a limit on the wait sends again after a day", async () => {
    const first = errorResponse(429, "rate_limit_exceeded", { "retry-after": "999999999999" });
    const { client, run, sent } = await openAfter(first, { maxWaitMs: Infinity });
    expect(await run(client.cancel(1n))).toEqual({ ok: true });
    expect(sent.map(({ at }) => at - NOON)).toEqual([0, DAY_MS]);
  });

  test.each([
    [200, "[]"],
    [204, null],
    [401, "{}"],
    [404, "{}"],
    [500, "{}"],
  ])("a Retry-After on a %i is ignored", async (status, body) => {
    const headers = { "retry-after": "999999999999" };
    const { client, run, time } = await openAfter(new Response(body, { status, headers }));
    await run(rejection(status === 200 ? readAll(client.list()) : client.cancel(1n)));
    await run(client.cancel(1n));
    expect(time.now).toBe(NOON);
  });
});

describe("X-RateLimit-Remaining, X-RateLimit-Reset and Date", () => {
  const quota = (remaining: string, reset: string, date?: string) => ({
    "x-ratelimit-limit": "60",
    "x-ratelimit-remaining": remaining,
    "x-ratelimit-reset": reset,
    ...(date === undefined ? {} : { date }),
  });
  const IN_A_MINUTE = `${NOON / 1000 + 60}`;

  test.each([
    ["in 1970", new Date(0).toUTCString()],
    ["in the year 9999", "Fri, 31 Dec 9999 23:59:59 GMT"],
    ["in the year 275760", "Wed, 01 Jan 275760 00:00:00 GMT"],
    ["that is not a date", "now"],
  ])("a Date %s is ignored: the reset is compared with the client's clock", async (_name, date) => {
    const headers = quota("0", IN_A_MINUTE, date);
    const { client, run, time } = await openAfter(new Response(null, { status: 204, headers }));
    await run(client.cancel(1n));
    await run(client.cancel(1n));
    expect(time.now).toBe(NOON + MINUTE_MS);
  });
});
