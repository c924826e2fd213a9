import { expect, test } from "vitest";
import { ApiError, MalformedListError } from "../../lib/client/index.ts";
import { OPERATIONS } from "../../lib/http/operations.ts";
import { V2_PREVIEW_OPERATIONS } from "../../lib/http/v2-preview.ts";
import { MAX } from "../http/fixture.ts";
import { errorResponse, openClient, readAll, rejection } from "./fixture.ts";

const operations = [...OPERATIONS, ...V2_PREVIEW_OPERATIONS];

test("a page is read from v2, with every digit, and leads to the next one", async () => {
  const { client, run, sent } = await openClient({ operations });
  const first = await run(client.page({ limit: 3, order: "desc" }));
  expect(first.orders[0]).toEqual({ id: MAX, petId: -1n });
  expect(first.orders).toHaveLength(3);
  const second = await run(client.page({ limit: 3, order: "desc", cursor: first.next }));
  expect(second).toEqual({ orders: [{ id: 1n, petId: 7n, quantity: 2 }] });
  expect(sent.map(({ path }) => path)).toEqual(["/v2/store/orders", "/v2/store/orders"]);
  expect((await run(client.page({ status: "cancelled" }))).orders).toEqual([{ id: 3n }]);
  expect((await run(client.page())).orders).toHaveLength(4);
});

test("a page is read from v2 of a service whose path has a version of its own", async () => {
  const { client, run, sent } = await openClient({
    baseUrl: "http://orders.test/v1/shop/v10//",
    network: async () => Response.json({ orders: [] }),
  });
  expect(await run(client.page())).toEqual({ orders: [] });
  expect(sent).toMatchObject([{ method: "GET", path: "/v1/shop/v2/store/orders" }]);
});

test("a page names the orders that the service cannot read", async () => {
  const { client, run } = await openClient({
    network: async () => new Response('{"orders":[{"id":1}],"damaged":[2,9223372036854775807],"next":"a"}'),
  });
  const damaged = [2n, 9223372036854775807n];
  expect(await run(client.page())).toEqual({ orders: [{ id: 1n }], next: "a", damaged });
});

test("pages are read one after another, each when it is asked for", async () => {
  const { client, run, sent } = await openClient({ operations });
  const pages = client.pages({ limit: 3 });
  expect(sent).toEqual([]);
  expect((await run(pages.next())).value?.orders.map(({ id }) => id)).toEqual([1n, 2n, 3n]);
  expect(sent).toHaveLength(1);
  expect((await run(readAll(pages))).map(({ orders }) => orders.length)).toEqual([1]);
});

test("an invalid query is an error that says what is wrong", async () => {
  const { client, run } = await openClient({ operations });
  const error = await rejection(run(client.page({ limit: 0, cursor: "x" })));
  expect(error).toBeInstanceOf(ApiError);
  expect(error).toMatchObject({ code: "invalid_input", status: 400, retryable: false });
  expect(String(error)).toMatch(
    /query\.limit: Use a whole number from 1 to 1000\. query\.cursor: Use 'next'/,
  );
});

test("a page is requested again if its body breaks off or the service is busy", async () => {
  const broken = () =>
    new ReadableStream({ pull: (controller) => controller.error(new TypeError("terminated")) });
  const { client, run, sent } = await openClient({
    operations,
    network: async (forward, attempt) => {
      if (attempt === 1) return new Response(broken());
      return attempt === 2 ? errorResponse(503, "store_unavailable", { "retry-after": "1" }) : forward();
    },
  });
  expect((await run(client.page())).orders).toHaveLength(4);
  expect(sent).toHaveLength(3);
});

test.each([
  ["text", "hello", /not valid JSON/],
  ["nothing", "", /not valid JSON/],
  ["a list", "[]", /not a page/],
  ["null", "null", /not a page/],
  ["a cursor that is no text", '{"orders":[],"next":1}', /not a page/],
  ["damaged orders that are no list", '{"orders":[],"damaged":{}}', /not a page/],
  ["a damaged order without an identifier", '{"orders":[{"id":1}],"damaged":["a"]}', /Order 2 is invalid/],
  ["an order that is none", '{"orders":[null]}', /Order 1 is invalid/],
  ["an identifier with a fraction", '{"orders":[{"id":1.5}]}', /Order 1 is invalid/],
  ["more than any page has", `{"orders":[${'{"id":1},'.repeat(600_000)}{"id":1}]}`, /not valid JSON/],
])("a response with %s is not taken for a page", async (_what, body, message) => {
  const { client, run } = await openClient({ network: async () => new Response(body) });
  const error = await rejection(run(client.page()));
  expect(error).toBeInstanceOf(MalformedListError);
  expect(error).toMatchObject({ name: "MalformedListError" });
  expect(String(error)).toMatch(message);
});
