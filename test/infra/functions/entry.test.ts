import { gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import {
  api,
  BUCKETS,
  both,
  eventOf,
  expectError,
  faults,
  keys,
  list,
  MANY,
  MANY_RECORDS,
  PLATFORM,
  PREFIX,
  send,
  stream,
  useFunctions,
} from "./entry-fixture.ts";
import { readStreamed } from "./gateway.ts";
import { metricLines } from "./metric-lines.ts";

useFunctions();

describe("the buffered function", () => {
  test.each([
    ["a missing key", "GET", "/v1/store/orders", { key: "" }, 401, "missing_api_key"],
    ["an invalid key", "GET", "/v1/store/orders", { key: "so_test_x" }, 401, "invalid_api_key"],
    ["an order that does not exist", "DELETE", "/v1/store/orders/99999", {}, 404, "order_not_found"],
    ["a path that does not exist", "GET", "/v1/store", {}, 404, "route_not_found"],
    ["a pet", "GET", "/v1/pets/1", {}, 404, "pet_not_found"],
    ["an unsupported method", "PUT", "/v1/store/orders", {}, 405, "method_not_allowed"],
    ["a shipped order", "DELETE", "/v1/store/orders/2", {}, 409, "order_already_shipped"],
    ["an order whose stored status is invalid", "DELETE", "/v1/store/orders/-1", {}, 500, "internal_error"],
    ["a method that is not implemented", "TRACE", "/v1/store/orders", {}, 501, "not_implemented"],
    ["a URL that is too long", "GET", `/v1/${"a".repeat(9_000)}`, {}, 414, "uri_too_long"],
  ] as const)(
    "responds to %s with its status, an Error body and the rate-limit headers",
    async (_case, method, path, options, status, code) => {
      const response = await send(method, path, options);
      expect(response.status).toBe(status);
      expectError(response, code);
      for (const name of ["limit", "remaining", "reset"]) {
        expect(response.headers.get(`x-ratelimit-${name}`)).toMatch(/^\d+$/);
      }
    },
  );

  test("responds to a cancel with 204 and no body, and to a second one with 409", async () => {
    const cancelled = await send("DELETE", "/v1/store/orders/1");
    expect([cancelled.status, `${cancelled.body}`]).toEqual([204, ""]);
    const second = await send("DELETE", "/v1/store/orders/1");
    expect(second.status).toBe(409);
    expectError(second, "order_already_cancelled");
  });

  test("responds to HEAD of the list with its headers and no body", async () => {
    const { status, body, headers } = await send("HEAD", "/v1/store/orders");
    expect([status, `${body}`, headers.get("content-type")]).toEqual([200, "", "application/json"]);
  });

  test("responds to the preview of v2 with pages, which are within the 6 MB of a buffered response", async () => {
    const at = async (after: readonly string[]) => {
      const query = { limit: ["1000"], order: ["desc"], ...(after.length > 0 && { cursor: after }) };
      const { status, body, headers } = await send("GET", "/v2/store/orders", { query });
      expect(status).toBe(200);
      expect(`${body}`.length).toBeLessThan(500_000);
      return { ...JSON.parse(`${body}`), link: headers.get("link") };
    };
    const first = await at([]);
    const second = await at([first.next]);
    const ids = [...first.orders, ...second.orders].map(({ id }: { id: number }) => id);
    expect(ids).toEqual(Array.from({ length: ids.length }, (_, index) => MANY - 1 - index));
    expect(ids.length).toBeGreaterThan(1_000);
    expect(first.link).toBe(`<?limit=1000&order=desc&cursor=${first.next}>; rel="next"`);
  });

  test("the buffered function does not compress, because a buffered response is text", async () => {
    const options = { headers: { "Accept-Encoding": ["gzip"] } };
    expect(JSON.parse(`${(await send("GET", "/openapi.json", options)).body}`).openapi).toMatch(/^3\.1/);
    const { body, headers } = await send("GET", "/v1/store/orders", options);
    expect(headers.get("content-encoding")).toBeNull();
    expect(`${body}`).toMatch(/^\[.*\]$/);
  });

  test("the buffered function rejects requests over the limit, and bans a key that continues", async () => {
    const codes: string[] = [];
    for (let call = 0; call < 10 && codes.at(-1) !== "api_key_banned"; call++) {
      const { status, body, headers } = await send("GET", "/v1/pets/1", { key: keys.small });
      codes.push(JSON.parse(`${body}`).code);
      if (status === 429) expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
    }
    expect(new Set(codes)).toEqual(new Set(["pet_not_found", "rate_limit_exceeded", "api_key_banned"]));
  });
});

describe("the streaming function", () => {
  test("streams the list in several chunks", async () => {
    const posted = await list.invoke(eventOf("GET", "/v1/store/orders"));
    const { status, headers, body, streamError } = readStreamed(posted);
    expect(posted.chunks.length).toBeGreaterThan(3);
    expect([status, headers.get("content-type"), streamError]).toEqual([200, "application/json", undefined]);
    expect(`${body}`).toBe(`[{"id":-1},${MANY_RECORDS}]`);
  });

  test("compresses the list if the client accepts gzip", async () => {
    const { headers, body } = await stream({ headers: { "Accept-Encoding": ["br, gzip"] } });
    expect(headers.get("content-encoding")).toBe("gzip");
    expect(`${gunzipSync(body)}`).toContain(MANY_RECORDS);
  });

  test("the streaming function sends an error with a body", async () => {
    const response = await stream({ key: "" });
    expect(response.status).toBe(401);
    expectError(response, "missing_api_key");
  });

  test("the streaming function sends one byte instead of an empty body, because an empty stream hangs", async () => {
    const { status, body } = readStreamed(await list.invoke(eventOf("HEAD", "/v1/store/orders")));
    expect([status, `${body}`]).toEqual([200, "\n"]);
  });

  test("the streaming function ends the stream with an error and an unclosed array if the store fails after the first page", async () => {
    faults.queriesLeft = BUCKETS * 2;
    const { status, body, streamError } = await stream();
    faults.queriesLeft = Number.POSITIVE_INFINITY;
    expect(status).toBe(200);
    expect(`${body}`).toMatch(/^\[\{/);
    expect(`${body}`).not.toMatch(/\]$/);
    expect(streamError).toBe("StoreUnavailableError");
    expect((await stream()).streamError).toBeUndefined();
  });
});

describe.each(["buffered", "streamed"] as const)("the %s function", (mode) => {
  test("the function redirects a redirect host to the primary host with path and query, without a key", async () => {
    const { status, headers, body } = await both[mode]("/v1/store/orders", {
      host: "www.example.com",
      key: "",
      query: { a: ["1 2"] },
    });
    expect(status).toBe(301);
    expect(headers.get("location")).toBe("https://orders.example.com/v1/store/orders?a=1%202");
    expect(headers.has("x-ratelimit-limit")).toBe(false);
    expect(`${body}`).toContain("orders.example.com");
  });

  test("the function serves the primary and the API Gateway hostname, and responds to other hosts with 421", async () => {
    expect((await both[mode]("/v1/store/orders", { host: "orders.example.com" })).status).toBe(200);
    expect((await both[mode]("/v1/store/orders", { host: PLATFORM })).status).toBe(200);
    const misdirected = await both[mode]("/v1/store/orders", { host: "evil.example" });
    expect(misdirected.status).toBe(421);
    expectError(misdirected, "misdirected_request");
  });

  test("the function responds with 503 and Retry-After while the store is down, and recovers", async () => {
    faults.isDown = true;
    const down = await both[mode]("/v1/store/orders");
    faults.isDown = false;
    expect(down.status).toBe(503);
    expectError(down, "store_unavailable");
    expect(Number(down.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(down.headers.has("x-ratelimit-limit")).toBe(true);
    expect((await both[mode]("/v1/store/orders")).status).toBe(200);
  });
});

describe("the log", () => {
  test("the log contains metrics in the embedded metric format, and never a key", async () => {
    const metrics = new Set<string>();
    for (const line of [...metricLines(list), ...metricLines(api)]) {
      const { Timestamp, CloudWatchMetrics } = line["_aws"] as {
        Timestamp: number;
        CloudWatchMetrics: { Namespace: string; Dimensions: string[][]; Metrics: { Name: string }[] }[];
      };
      expect(Math.abs(Timestamp - Date.now())).toBeLessThan(120_000);
      for (const { Namespace, Dimensions, Metrics } of CloudWatchMetrics) {
        expect(Namespace).toBe(PREFIX);
        for (const name of Dimensions.flat()) expect(typeof line[name]).toBe("string");
        for (const { Name } of Metrics) {
          expect(typeof line[Name]).toBe("number");
          metrics.add(`${Name} by ${Dimensions.flat().join(" and ")}`);
        }
      }
    }
    expect([...metrics].toSorted()).toEqual([
      "Admitted by Plan",
      "Bans by Plan",
      "ListFirstByte by ",
      "ListRows by ",
      "Rejected by Plan",
      "Requests by Operation and Status",
    ]);
    for (const key of Object.values(keys)) expect(list.log() + api.log()).not.toContain(key);
  });

  test("the log contains each request and the number of records of each list", () => {
    expect(metricLines(list)).toContainEqual(expect.objectContaining({ ListRows: MANY + 1 }));
    expect(metricLines(api)).toContainEqual(
      expect.objectContaining({
        requestId: "gateway-request-1",
        method: "DELETE",
        operation: "cancelOrder",
        status: 204,
        accountId: "busy",
        Operation: "cancelOrder",
        Status: "204",
        Requests: 1,
        Admitted: 1,
        Plan: "business",
      }),
    );
  });
});
