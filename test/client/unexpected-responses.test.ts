import { describe, expect, test, vi } from "vitest";
import { ERRORS, type ErrorCode } from "../../lib/http/errors.ts";
import { errorResponse, openClient, readAll, rejection } from "./fixture.ts";

const LOGIN_PAGE = { body: "<!doctype html><title>Log in</title>", type: "text/html; charset=utf-8" };

function respond(status: number, body: string | null = null, contentType = "application/json"): Response {
  return new Response(body, { status, headers: { "content-type": contentType } });
}

describe("cancel succeeds with 204 only", () => {
  test.each([
    ["200 with a login page", () => respond(200, LOGIN_PAGE.body, LOGIN_PAGE.type)],
    ["200 with JSON", () => respond(200, '{"ok":true}')],
    ["200 without a body", () => respond(200)],
    ["201", () => respond(201)],
    ["202", () => respond(202, "{}")],
    ["205", () => respond(205)],
    ["206", () => respond(206, "{}")],
    ["299", () => respond(299)],
    ["304", () => respond(304)],
    ["a 404 without a body", () => respond(404)],
    ["a 404 with a page", () => respond(404, LOGIN_PAGE.body, LOGIN_PAGE.type)],
  ])("%s is an unexpected response, probably from a proxy", async (_name, response) => {
    const { client, run, sent } = await openClient({ network: async () => response() });
    const error = await run(rejection(client.cancel(1n)));
    expect(error).toMatchObject({ name: "ApiError", code: "unexpected_response", retryable: false });
    expect(`${error}`).toContain("proxy");
    expect(sent).toHaveLength(1);
  });
});

describe("a list is a 200 with a JSON array", () => {
  test.each([
    ["a 206", () => respond(206, '[{"id":1}]'), "unexpected_response"],
    ["a 203", () => respond(203, '[{"id":1}]'), "unexpected_response"],
    ["a 204", () => respond(204), "unexpected_response"],
    ["a login page", () => respond(200, LOGIN_PAGE.body, LOGIN_PAGE.type), "unexpected_response"],
    ["a login page that claims to be JSON", () => respond(200, LOGIN_PAGE.body), "list_malformed"],
    ["an object", () => respond(200, '{"orders":[]}'), "list_malformed"],
    ["a text", () => respond(200, "Welcome", "text/plain"), "list_malformed"],
  ])("%s is an error that names a proxy as the probable cause", async (_name, response, code) => {
    const { client, run, sent } = await openClient({ network: async () => response() });
    const error = await run(rejection(readAll(client.list())));
    expect(error).toMatchObject({ code, retryable: false });
    expect(`${error}`).toContain("proxy");
    expect(sent).toHaveLength(1);
  });

  test.each([
    ...["application/json", "application/json; charset=utf-8", "application/problem+json", "text/plain", ""],
  ])("a JSON array with the content type '%s' is a list", async (contentType) => {
    const { client, run } = await openClient({ network: async () => respond(200, "[]", contentType) });
    expect(await run(readAll(client.list()))).toEqual([]);
  });
});

describe("a code counts only with its own status", () => {
  test.each([
    [500, "order_not_found"],
    [409, "order_not_found"],
    [404, "order_already_shipped"],
    [400, "order_already_cancelled"],
    [403, "invalid_api_key"],
  ])("a %i with the code %s is an unexpected response", async (status, code) => {
    const { client, run } = await openClient({ network: async () => errorResponse(status, code) });
    await expect(run(client.cancel(1n))).rejects.toMatchObject({ code: "unexpected_response", status });
  });

  test.each(Object.entries(ERRORS))("the code %s is recognised", async (code, { status }) => {
    const network = async () => errorResponse(status, code);
    const { client, run } = await openClient({ network, maxAttempts: 1 });
    const settled = await run(client.cancel(1n).catch((error: unknown) => error));
    expect((settled as { code: ErrorCode }).code).toBe(code);
  });

  test.each(["__proto__", "constructor", "toString", ""])("the code '%s' is not recognised", async (code) => {
    const { client, run } = await openClient({ network: async () => errorResponse(404, code) });
    await expect(run(client.cancel(1n))).rejects.toMatchObject({ code: "unexpected_response" });
  });
});

describe("what an ApiError says", () => {
  const FROM_PROXY = "unexpected_response: A proxy probably sent this response instead of the service.";
  const json = (value: unknown) => JSON.stringify(value);
  const notFound = (message: unknown) => json({ code: "order_not_found", message });

  test.each([
    [404, "", `404 ${FROM_PROXY}`],
    [418, json({ code: "teapot", message: "Short." }), `418 ${FROM_PROXY} Its message: "Short."`],
    [418, json({ message: ["no text"] }), `418 ${FROM_PROXY}`],
    [404, notFound(7), `404 order_not_found: ${ERRORS.order_not_found.message}`],
    [404, notFound(" a\u0007\u0000\u2028b\n"), "404 order_not_found: a b"],
    [404, json({ code: "order_not_found", message: "No.", issues: "none" }), "404 order_not_found: No."],
    [
      400,
      json({ code: "invalid_input", message: "No.", issues: [{ path: "a", message: "B." }, null] }),
      "400 invalid_input: No. a: B. undefined: undefined",
    ],
    [404, notFound("x".repeat(501)), `404 order_not_found: ${"x".repeat(500)}`],
  ])("a %i with the body '%s'", async (status, body, message) => {
    const { client, run } = await openClient({ network: async () => respond(status, body) });
    const error = await run(rejection(readAll(client.list())));
    expect(error).toMatchObject({ message, status, requestId: undefined });
  });

  test("its message may arrive in parts that split a character", async () => {
    const bytes = new TextEncoder().encode(notFound("Größe: 5 €"));
    const body = ReadableStream.from([...bytes].map((byte) => Uint8Array.of(byte)));
    const { client, run } = await openClient({ network: async () => new Response(body, { status: 404 }) });
    expect(await run(rejection(readAll(client.list())))).toMatchObject({
      message: "404 order_not_found: Größe: 5 €",
    });
  });
});

describe("redirects", () => {
  test.each([
    [201, "/login", undefined],
    [300, "/login", "/login"],
    [399, "/login", "/login"],
    [399, "\u00ad", "another address"],
    [304, undefined, undefined],
    [400, "/login", undefined],
  ])("a %i with the location %s is a redirect to %s", async (status, location, target) => {
    const cancel = vi.fn();
    const body =
      status === 304 ? null : new ReadableStream({ pull: (to) => to.close(), cancel }, { highWaterMark: 0 });
    const headers = location === undefined ? {} : { location };
    const network = async () => new Response(body, { status, headers });
    const { client, run } = await openClient({ network });
    const error = await run(rejection(client.cancel(1n)));
    expect(error).toMatchObject({
      code: "unexpected_response",
      message:
        target === undefined
          ? `${status} unexpected_response: A proxy probably sent this response instead of the service.`
          : `${status} unexpected_response: Redirects are not followed, because the API key must not be sent to ` +
            `another host. A proxy or the service redirected this request to ${target}; check the base URL.`,
    });
    expect(cancel, "closes the connection").toHaveBeenCalledTimes(target === undefined ? 0 : 1);
  });

  test("in a browser, which hides the target, the error still reports a redirect", async () => {
    const hidden = () =>
      Object.defineProperties(new Response(null), {
        type: { value: "opaqueredirect" },
        status: { value: 0 },
        ok: { value: false },
      });
    const { client, run } = await openClient({ network: async () => hidden() });
    await expect(run(client.cancel(1n))).rejects.toThrow("redirect");
  });
});

test("text of a response cannot write control characters into an error message", async () => {
  const forged = "\u001b]0;title\u0007\r\n2026-11-20 INFO ok\u202e\u2028";
  const { client, run } = await openClient({
    network: async () =>
      errorResponse(400, "bad_request", { "x-request-id": "a\u001b[2Jb" }, `${forged}${"x".repeat(50_000)}`),
  });
  const error = (await run(rejection(client.cancel(1n)))) as Error & { requestId: string };
  expect(`${error.message}${error.requestId}`).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}]/u);
  expect(error.message.length).toBeLessThan(1_000);
  expect(error.message, "no space where a character was removed at an end").not.toMatch(/^\s|\s$|: {2}/);
});
