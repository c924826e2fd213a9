import { createServer, type IncomingHttpHeaders } from "node:http";
import { text } from "node:stream/consumers";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { errorMessage, InvalidInputError } from "../../lib/core/errors.ts";
import type { DeliveredChange } from "../../lib/orders/delivery.ts";
import { webhook } from "../../lib/webhooks/index.ts";
import { listenOn } from "../support/free-port.ts";

const secretOf = (byte: string, bytes = 32) => `whsec_${Buffer.from(byte.repeat(bytes)).toString("base64")}`;
const [FIRST, SECOND] = [secretOf("a"), secretOf("b")];
const CHANGE: DeliveredChange = {
  id: "9007199254740993:2",
  event: "cancel",
  at: Date.UTC(2026, 10, 23, 9, 30),
  from: "pending",
  to: "cancelled",
  by: "acme_1",
  order: { record: { id: 9007199254740993n }, status: "cancelled" },
};

/** A real receiver: what it got, and how it answers. `undefined` is never. */
const received: {
  readonly url: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}[] = [];
let status: number | undefined = 204;
let answerHeaders: Record<string, string> = {};
const receiver = createServer(async (request, response) => {
  received.push({ url: request.url, headers: request.headers, body: await text(request) });
  if (status !== undefined)
    response.writeHead(status, status === 307 ? { location: "/elsewhere" } : answerHeaders).end("x");
});
let url = "";
beforeAll(async () => {
  url = `http://127.0.0.1:${await listenOn(receiver)}/hook`;
});
afterAll(() => {
  receiver.closeAllConnections();
  receiver.close();
});
beforeEach(() => {
  received.length = 0;
  status = 204;
  answerHeaders = {};
});

describe("a webhook", () => {
  test("uses the fetch that the program has when a change is delivered", async () => {
    const deliver = webhook({ url, secret: FIRST });
    const replaced = vi.spyOn(globalThis, "fetch").mockResolvedValue(new Response());
    onTestFinished(() => replaced.mockRestore());
    await deliver(CHANGE);
    expect([replaced.mock.calls.length, received.length]).toEqual([1, 0]);
  });

  test("is a signed request that the reference library verifies, with exact numbers", async () => {
    await webhook({ url, secret: FIRST })(CHANGE);
    const [{ headers, body } = { headers: {}, body: "" }] = received;
    expect(headers).toMatchObject({ "webhook-id": CHANGE.id, "content-type": "application/json" });
    new Webhook(FIRST).verify(body, headers as Record<string, string>);
    expect(() => new Webhook(SECOND).verify(body, headers as Record<string, string>)).toThrow();
    expect(body).toBe(
      '{"type":"order.cancel","timestamp":"2026-11-23T09:30:00.000Z","data":{"id":"9007199254740993:2","event":"cancel","at":"2026-11-23T09:30:00.000Z","from":"pending","to":"cancelled","by":"acme_1","status":"cancelled","order":{"id":9007199254740993}}}',
    );
  });

  test("with two secrets is accepted by whoever knows one of them", async () => {
    await webhook({ url, secret: [FIRST, SECOND] })(CHANGE);
    const [{ headers, body } = { headers: {}, body: "" }] = received;
    for (const secret of [FIRST, SECOND]) new Webhook(secret).verify(body, headers as Record<string, string>);
  });

  test.each([200, 202, 299])("is accepted with status %i", async (accepted) => {
    status = accepted;
    await webhook({ url, secret: FIRST })(CHANGE);
  });

  test.each([400, 404, 429, 500, 503])("is repeated after status %i", async (failed) => {
    status = failed;
    await expect(webhook({ url, secret: FIRST })(CHANGE)).rejects.toMatchObject({
      retryable: true,
      message: expect.stringContaining(`answered ${failed}`),
    });
  });

  test.each<[number, Record<string, string>, number | undefined]>([
    [429, {}, 1_000],
    [503, { "retry-after": "60" }, 60_000],
    [503, { "retry-after": "0" }, 1_000],
    [429, { date: "Fri, 20 Nov 2026 12:00:00 GMT", "retry-after": "Fri, 20 Nov 2026 12:00:30 GMT" }, 30_000],
    [429, { date: "Fri Nov 20 12:00:00 2026", "retry-after": "Friday, 20-Nov-26 12:00:40 GMT" }, 40_000],
    [500, { "retry-after": "60" }, undefined],
  ])("says after %i with %j how long the receiver wants nothing", async (failed, headers, retryAfterMs) => {
    status = failed;
    answerHeaders = headers;
    await expect(webhook({ url, secret: FIRST })(CHANGE)).rejects.toMatchObject({ retryAfterMs });
  });

  test("does not follow a redirect", async () => {
    status = 307;
    await expect(webhook({ url, secret: FIRST })(CHANGE)).rejects.toThrow("answered 307.");
    expect(received.map(({ url }) => url)).toEqual(["/hook"]);
  });

  test("sends nothing more after a 410, and no change is repeated by itself", async () => {
    status = 410;
    const deliver = webhook({ url, secret: FIRST });
    for (let attempt = 0; attempt < 3; attempt++)
      await expect(deliver(CHANGE)).rejects.toMatchObject({
        retryable: false,
        message: expect.stringContaining("nothing more until it is restarted"),
      });
    expect(received).toHaveLength(1);
  });

  test("ends after its time limit, or with the signal", async () => {
    status = undefined;
    await expect(webhook({ url, secret: FIRST, timeoutMs: 50 })(CHANGE)).rejects.toThrow("within 50 ms");
    await expect(webhook({ url, secret: FIRST })(CHANGE, AbortSignal.timeout(50))).rejects.toThrow();
  });

  test("reports a receiver that cannot be reached by its host, without the path, which may be a secret", async () => {
    const failed = webhook({ url: "http://127.0.0.1:1/hook?token=secret", secret: FIRST })(CHANGE);
    const error = await failed.catch((error: unknown) => error);
    expect(errorMessage(error)).toMatch(
      /^127\.0\.0\.1:1 cannot be reached\. \(fetch failed: (bad port|connect ECONN.*)\)$/,
    );
  });
});

test.each([
  ["url", { url: "orders.example.com", secret: FIRST }],
  ["url", { url: "ftp://example.com", secret: FIRST }],
  ["url", { url: "https://user:pass@example.com", secret: FIRST }],
  ["secret", { url: "https://example.com", secret: "" }],
  ["secret", { url: "https://example.com", secret: [] }],
  ["secret", { url: "https://example.com", secret: "whsec_short" }],
  ["secret", { url: "https://example.com", secret: secretOf("a", 23) }],
  ["secret", { url: "https://example.com", secret: secretOf("a", 25).replace("=", "") }],
  ["secret", { url: "https://example.com", secret: [FIRST, "plain"] }],
  ...[0, -1, NaN, Infinity, 2 ** 31, "5"].map((timeoutMs) => {
    const options = { url: "https://example.com", secret: FIRST, timeoutMs: timeoutMs as number };
    return ["timeoutMs", options] as [string, typeof options];
  }),
])("an invalid %s is an error that does not contain it", (path, options) => {
  const create = () => webhook(options);
  expect(create).toThrow(InvalidInputError);
  expect(create).toThrow(expect.objectContaining({ issues: [expect.objectContaining({ path })] }));
  expect(create).not.toThrow("pass@");
});

test("with a clock that returns no instant, nothing is sent: no receiver would accept the signature", async () => {
  for (const clock of [() => Number.NaN, () => new Date() as never, () => 0.5])
    await expect(webhook({ url, secret: FIRST, clock })(CHANGE)).rejects.toThrow(/^clock: It is /);
  expect(received).toEqual([]);
});
