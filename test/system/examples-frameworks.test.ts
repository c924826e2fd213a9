import { expect, test } from "vitest";
import { printed, useExamples } from "./examples-fixture.ts";

const { installExample } = useExamples();

test("the handler works under a path of a Hono application", async () => {
  expect(await printed(await installExample("handler-in-hono"))).toEqual([
    "200 the home page limit: -",
    '200 [{"id":9223372036854775807,"petId":3}] limit: 300',
    "204  limit: 300",
    expect.stringMatching(/^409 \{"code":"order_already_cancelled",.* limit: 300$/),
    expect.stringMatching(/^401 \{"code":"missing_api_key",.* limit: 60$/),
    expect.stringMatching(/^200 \{"openapi":"3.1.0",.* limit: -$/),
  ]);
});

/** What each framework with the handler below /shop responds, after the home page. */
const BELOW_SHOP = [
  '200 [{"id":9223372036854775807,"petId":3}] limit: 300',
  "204  limit: 300",
  expect.stringMatching(/^409 \{"code":"order_already_cancelled",.* limit: 300$/),
  expect.stringMatching(/^401 \{"code":"missing_api_key",.* limit: 60$/),
  '200 {"status":"ok"} limit: -',
];

test("the handler works under a path of an Express application", async () => {
  const lines = await printed(await installExample("handler-in-express"));
  expect(lines).toEqual(["200 the home page limit: -", ...BELOW_SHOP]);
});

test("the handler works under a path of a Fastify application", async () => {
  const lines = await printed(await installExample("handler-in-fastify"));
  expect(lines).toEqual(["200 the home page limit: -", ...BELOW_SHOP]);
});

test("the handler works as a route of a Next.js application", { timeout: 400_000 }, async () => {
  expect(await printed(await installExample("handler-in-next"))).toEqual(BELOW_SHOP);
});

test("the handler runs in Cloudflare Workers without Node compatibility", async () => {
  expect(await printed(await installExample("handler-in-workers"))).toEqual([
    '200 [{"id":9223372036854775807,"petId":3}] limit: 300',
    "204  limit: 300",
    expect.stringMatching(/^409 \{"code":"order_already_cancelled",.* limit: 300$/),
    expect.stringMatching(/^401 \{"code":"missing_api_key",.* limit: 60$/),
    expect.stringMatching(/^200 \{"openapi":"3.1.0",.* limit: -$/),
  ]);
});
