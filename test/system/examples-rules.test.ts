import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { skipsWithoutPostgres, startPostgres } from "../support/postgres/server.ts";
import { useExamples } from "./examples-fixture.ts";
import { runProgram, runSuccessfully } from "./installed.ts";

const { homeOf, printed } = useExamples(
  "gate-in-fastify",
  "gate-in-express",
  "gate-in-hono",
  "place-orders",
  "trace-requests",
  "read-pages",
  "webhook-receiver",
  "refund-cancelled-orders",
  "shipping-worker",
  "order-with-invoice",
  "own-lifecycle",
  "with-postgres-js",
  "own-store",
  "verify-customer-domains",
);

test("a gate and the rules work in a Fastify service with its own routes", async () => {
  expect(await printed("gate-in-fastify")).toEqual([
    '201 {"id":7,"petId":9007199254740993,"quantity":2} remaining: 59, retry after: -',
    '200 {"id":7,"petId":9007199254740993,"quantity":2} remaining: 58, retry after: -',
    expect.stringMatching(/^409 \{"code":"order_conflict",.* remaining: 57, retry after: -$/),
    expect.stringMatching(
      /^400 \{"code":"invalid_input","message":"quantity: .* remaining: 56, retry after: -$/,
    ),
    expect.stringMatching(/^400 \{"code":"invalid_input",.*not valid JSON.* remaining: 55, retry after: -$/),
    '200 {"status":"cancelled"} remaining: 54, retry after: -',
    expect.stringMatching(/^409 \{"code":"order_already_cancelled",.* remaining: 53, retry after: -$/),
    expect.stringMatching(/^404 \{"code":"order_not_found",.* remaining: 52, retry after: -$/),
    expect.stringMatching(/^401 \{"code":"invalid_api_key",.* remaining: 59, retry after: -$/),
    expect.stringMatching(/^429 \{"code":"rate_limit_exceeded",.* remaining: 0, retry after: 60$/),
  ]);
});

test.each(["gate-in-express", "gate-in-hono"])(
  "%s: callers keep their keys, and the plans are the shop's",
  async (name) => {
    expect(await printed(name)).toEqual([
      '200 "acme" remaining: 1',
      '200 "acme" remaining: 0',
      expect.stringMatching(/^429 \{"code":"rate_limit_exceeded",.* remaining: 0$/),
      expect.stringMatching(/^401 \{"code":"invalid_api_key",.* remaining: 59$/),
    ]);
  },
);

test("an operation of your own places orders, and can be repeated", async () => {
  const order = '{"id":9223372036854775807,"petId":3,"quantity":2}';
  expect(await printed("place-orders")).toEqual([
    `201 orders/9223372036854775807 ${order}`,
    `201 orders/9223372036854775807 ${order}`,
    `200 - ${order}`,
    '409 - {"code":"order_conflict","message":"The identifier is that of another or a changed order.","status":409}',
    expect.stringMatching(/^400 - \{"code":"invalid_input",.*"issues":\[\{"path":"body\.quantity"/),
    expect.stringMatching(/^400 - \{"code":"invalid_input",.*"issues":\[\{"path":"body\.complete"/),
    expect.stringMatching(/^401 - \{"code":"missing_api_key"/),
    `200 - [${order}]`,
  ]);
});

test("each request is a span of OpenTelemetry, and each call of the store one below it", async () => {
  expect(await printed("trace-requests")).toEqual([
    "GET listOrders: 200, the caller's trace, store.accounts.admit, store.orders.list",
    "DELETE cancelOrder: 204, the caller's trace, store.accounts.admit, store.orders.apply",
    "DELETE cancelOrder: 409, the caller's trace, store.accounts.admit, store.orders.apply",
    "GET listOrders: 401, a new trace, no call",
    "GET listOrders (failed): 503, the caller's trace, store.accounts.admit (failed)",
  ]);
});

test("a client reads pages of v2, and continues where it stopped", async () => {
  expect(await printed("read-pages")).toEqual([
    "100 orders: 21 to 120",
    "100 orders: 121 to 220",
    "31 orders: 221 to 1000",
    "the last order is 1000",
  ]);
});

test("a receiver verifies webhooks, and handles a change that is sent twice once", async () => {
  expect(await printed("webhook-receiver")).toEqual([
    "order.cancel 9223372036854775807",
    "order.place 1001",
    "order.place 9223372036854775807",
    "forged: 401",
  ]);
});

// These two mostly wait.
test.concurrent("a custom store passes every case of the exported contract that a file needs", async () => {
  const [summary = ""] = await printed("own-store");
  expect(summary).toMatch(/^passed: [6-9]\d, failed: 0, skipped: 25$/);
});

test.concurrent("each cancelled order is refunded exactly once, whichever step the process dies at", async () => {
  const home = homeOf("refund-cancelled-orders");
  const steps = ["placed", "cancelled", "refunding", "refunded", "delivered"];
  const outputs = steps.map(async (step) => {
    const folder = join(home, step);
    await mkdir(folder);
    const died = await runProgram(folder, "node", ["../main.ts"], { DIE_AT: step });
    expect(died.stdout).toBe("");
    return (await runSuccessfully(folder, "node", ["../main.ts"])).trim().split("\n");
  });
  for (const lines of await Promise.all(outputs))
    expect(lines).toEqual(
      [1, 2].map((id) => expect.stringMatching(`^order ${id}: refund ${id}:2:[0-9A-Za-z]{10}$`)),
    );
});

test("each order that a worker ships while the API cancels it ends in one status that both report", async () => {
  const [orders, statuses = "", wrong] = await printed("shipping-worker");
  expect([orders, wrong]).toEqual(["orders: 400, pending: 0", "wrong results: 0"]);
  const [, shipped, cancelled] = /^shipped: (\d+), cancelled: (\d+)$/.exec(statuses) ?? [];
  expect(Number(shipped) + Number(cancelled)).toBe(400);
  expect(Math.min(Number(shipped), Number(cancelled))).toBeGreaterThan(0);
});

test.skipIf(skipsWithoutPostgres("an order with its invoice"))(
  "an order and the program's own row are stored in one transaction, or neither is",
  async () => {
    const server = await startPostgres();
    try {
      expect(await printed("order-with-invoice", { DATABASE_URL: server.url() })).toEqual([
        "sell 1: sold; orders: 1 pending; invoices: 1",
        expect.stringMatching(
          /^sell 2 for nothing: .* violates check constraint .*; orders: 1 pending; invoices: 1$/,
        ),
        "refund 1: refunded; orders: 1 cancelled; invoices: none",
        "refund 1 again: order_already_cancelled; orders: 1 cancelled; invoices: none",
      ]);
    } finally {
      await server.remove();
    }
  },
);

test.skipIf(skipsWithoutPostgres("a store over postgres.js"))(
  "a store over postgres.js passes every case of the exported contract that a server can run",
  async () => {
    const server = await startPostgres();
    try {
      const [summary = ""] = await printed("with-postgres-js", { DATABASE_URL: server.url() });
      expect(summary).toMatch(/^passed: \d+, failed: 0, skipped: 6$/);
    } finally {
      await server.remove();
    }
  },
);

test.skipIf(skipsWithoutPostgres("a shop with a life cycle of its own"))(
  "a shop has orders, states and changes of its own, over the keys and limits of the service",
  async () => {
    const server = await startPostgres();
    try {
      const error = (code: string, message: string, status: number) =>
        JSON.stringify({ code, message, status });
      const unknown = error("order_not_found", "There is no order with this identifier.", 404);
      const refused = (code: string, found: string) =>
        error(code, `The order is ${found}; only new or paid orders accept 'cancel'.`, 409);
      expect(await printed("own-lifecycle", { DATABASE_URL: server.url() })).toEqual([
        'acme: POST 201 {"id":"<id>","items":["cat"],"status":"new"}',
        'acme: POST 201 {"id":"<id>","items":["dog","leash"],"status":"new"}',
        "globex: GET 200 []",
        `globex: DELETE 404 ${unknown}`,
        `acme: DELETE 404 ${unknown}`,
        "acme: DELETE 204 ",
        `acme: DELETE 409 ${refused("cannot_cancel_cancelled", "cancelled")}`,
        `acme: DELETE 409 ${refused("already_packed", "packed or shipped")}`,
        'acme: GET 200 [{"id":"<id>","items":["cat"],"status":"cancelled"},{"id":"<id>","items":["dog","leash"],"status":"packed"}]',
        "the first delivery: not reachable",
        "delivered: pay, pay, pack, cancel and refund",
        "Pet Shop: /orders, /orders/{orderId}",
      ]);
    } finally {
      await server.remove();
    }
  },
);

test("a service verifies the domains of thousands of customers with its own queue and the lifecycle, and serves them", async () => {
  expect(await printed("verify-customer-domains")).toEqual([
    "at most 32 at the same time",
    "first check: 1800 certificate_pending, 50 needs_attention (certificate_forbidden), 150 pending_dns",
    "after a minute: 1 certificate_pending, 1798 live, 1 needs_attention (certificate_failed), 50 needs_attention (certificate_forbidden), 150 pending_dns",
    "after 31 minutes: 1798 live, 1 needs_attention (certificate_failed), 50 needs_attention (certificate_forbidden), 1 needs_attention (certificate_overdue), 150 pending_dns",
    "to the customer: The certificate is not valid, or its authority rejected it.",
    "at most 32 at the same time",
    "second check: 202 certificate_pending, 1798 live",
    "in the end: 2000 live",
    "served: 401 401 421; after a removal: 421",
  ]);
});
