import type { ServerResponse } from "node:http";
import { afterEach, beforeEach, expect, test } from "vitest";
import { sendResponse } from "../../lib/node/response.ts";
import { parseLine } from "../../lib/orders/wire.ts";
import { createHandlerFixture, MAX } from "./fixture.ts";

/** What a library in the same process can have added to every object. */
const INHERITED: Readonly<Record<string, unknown>> = {
  text: "inherited",
  number: 5,
  object: { description: "inherited", type: "string" },
  "x-ratelimit-limit": "1",
  "content-encoding": "gzip",
  method() {},
};

beforeEach(() => void Object.assign(Object.prototype, INHERITED));
afterEach(() => {
  for (const name of Object.keys(INHERITED)) Reflect.deleteProperty(Object.prototype, name);
});

test("a request is answered alike if every object has inherited properties", async () => {
  const { send } = await createHandlerFixture();
  const list = await send("GET", "/v1/store/orders");
  expect([list.status, JSON.parse(list.text).length]).toEqual([200, 4]);
  expect((await send("DELETE", `/v1/store/orders/${MAX}`)).status).toBe(204);
  expect((await send("DELETE", "/v1/store/orders/2")).status).toBe(409);
  expect((await send("GET", "/v1/pets/7")).status).toBe(404);
});

test("a server sends only the headers of the response", async () => {
  let sent: object = {};
  const res = {
    ...{ socket: null, end() {} },
    writeHead(_status: number, fields: object) {
      sent = fields;
    },
  };
  const headers = { "content-type": "application/json" };
  await sendResponse({ status: 200, headers, body: "{}" }, res as unknown as ServerResponse, 1_000);
  expect(Object.entries(sent)).toEqual([
    ["content-type", "application/json"],
    ["content-length", "2"],
  ]);
});

test("a line of an import with a repeated field is found, and one without is not taken for it", () => {
  expect(parseLine('{"id":1, "shipDate":"2026-11-01T00:00:00Z"}').ok).toBe(true);
  expect(parseLine('{"id":1, "id":1}').ok).toBe(false);
  expect(parseLine('{ "id":1,"quantity": 2 }').ok).toBe(true);
});
