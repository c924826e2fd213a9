import { describe, expect, test } from "vitest";
import { ApiError, createClient, InvalidInputError } from "../../lib/client/index.ts";
import { MAX } from "../http/fixture.ts";
import { openClient, rejection } from "./fixture.ts";

describe("results", () => {
  test.each([
    [1n, { ok: true }],
    [MAX, { ok: true }],
    [2n, { ok: false, code: "order_already_shipped" }],
    [3n, { ok: false, code: "order_already_cancelled", maybeByThisCall: false }],
    [77n, { ok: false, code: "order_not_found" }],
    [2n ** 63n, { ok: false, code: "order_not_found" }],
    [-5n, { ok: false, code: "order_not_found" }],
  ])("cancelling order %i resolves to %o", async (id, expected) => {
    const { client, run, store, pendingTimers } = await openClient();
    expect(await run(client.cancel(id))).toEqual(expected);
    expect(pendingTimers(), "timers that are left").toBe(0);
    if (expected.ok) expect(await store.orders.find(id)).toMatchObject({ status: "cancelled" });
  });
});

describe("errors", () => {
  test("an invalid key throws an ApiError with code, status and request id", async () => {
    const { client, run, sent } = await openClient({ apiKey: "so_test_shop_wrong" });
    const error = await run(rejection(client.cancel(1n)));
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({ code: "invalid_api_key", status: 401, retryable: false });
    expect((error as ApiError).requestId).toMatch(/^[0-9a-f-]{36}$/);
    expect(sent).toHaveLength(1);
    expect(`${error}`).not.toContain("so_test_shop_wrong");
  });

  test("slashes behind the version make no difference", async () => {
    const { client, run, sent } = await openClient({ baseUrl: "http://orders.test/v1//" });
    expect(await run(client.cancel(1n))).toEqual({ ok: true });
    expect(sent).toMatchObject([{ path: "/v1/store/orders/1" }]);
  });

  test("a request has the key, asks for JSON and follows no redirect", async () => {
    const requests: unknown[] = [];
    const fetch = async (url: string, init: RequestInit) => {
      requests.push([url, init]);
      return new Response(null, { status: 204 });
    };
    const client = createClient({ baseUrl: "https://orders.test/shop/v1", apiKey: "key", fetch });
    await client.cancel(-1n);
    expect(requests).toEqual([
      [
        "https://orders.test/shop/v1/store/orders/-1",
        {
          method: "DELETE",
          headers: { authorization: "Bearer key", accept: "application/json" },
          signal: expect.any(AbortSignal),
          redirect: "manual",
        },
      ],
    ]);
  });

  test("a 404 for the path is thrown and not reported as a missing order", async () => {
    const { client, run } = await openClient({ baseUrl: "http://orders.test/v2/" });
    await expect(run(client.cancel(1n))).rejects.toMatchObject({ code: "route_not_found", status: 404 });
  });

  const URL_FIX = "Write a URL such as https://orders.example.com/v1, without user, query and fragment.";
  const KEY_FIX = "Write the key exactly as it was issued, without spaces or line breaks.";
  test.each([
    ["baseUrl", "orders.example.com", URL_FIX],
    ["baseUrl", "xhttps://orders.example.com/v1", URL_FIX],
    ["baseUrl", "httpsx://orders.example.com/v1", URL_FIX],
    ["baseUrl", "https://user:so_test@orders.example.com/v1", URL_FIX],
    ["baseUrl", "https://so_test@orders.example.com/v1", URL_FIX],
    ["baseUrl", "https://:so_test@orders.example.com/v1", URL_FIX],
    ["baseUrl", "https://orders.example.com/v1?key=so_test", URL_FIX],
    ["baseUrl", "https://orders.example.com/v1#so_test", URL_FIX],
    ["baseUrl", "https://orders.example.com/v1 ", URL_FIX],
    ["baseUrl", "https://orders.example.com", "Add /v1, as in https://"],
    ["baseUrl", "https://orders.example.com/v1/store", "Add /v1, as in https://"],
    ["baseUrl", new URL("https://orders.example.com/v1"), ""],
    ["apiKey", "so_test\n", KEY_FIX],
    ["apiKey", undefined, KEY_FIX],
    ["maxAttempts", Number.NaN, ""],
    ["totalTimeoutMs", "1000", ""],
    ["attemptTimeoutMs", -1, ""],
    ["maxWaitMs", Number.NaN, ""],
  ])("the %s %j is rejected when the client is created, without printing it", async (path, value, fix) => {
    const error = await rejection(openClient({ [path]: value }));
    expect(error).toBeInstanceOf(InvalidInputError);
    expect(error).toMatchObject({ issues: [{ path, message: expect.stringContaining(fix) }] });
    expect(`${error}`).not.toContain("so_test");
  });

  test.each(["7", 7.5, 2 ** 53, undefined, null])(
    "an identifier that is %j rejects with InvalidInputError and sends nothing",
    async (id) => {
      const { client, sent } = await openClient();
      expect(await rejection(client.cancel(id as never))).toMatchObject({ issues: [{ path: "id" }] });
      expect(sent).toHaveLength(0);
    },
  );
});

test("with a clock that returns no instant, no request is sent, and the error says what to return", async () => {
  for (const clock of [() => Number.NaN, () => new Date() as never, () => performance.now() + 0.5]) {
    const { client, sent } = await openClient({ clock });
    await expect(client.cancel(1n)).rejects.toThrow(/^clock: It is .*Math\.floor\(\)/);
    expect(sent).toEqual([]);
  }
});
