import { PassThrough } from "node:stream";
import type { WriteStream } from "node:tty";
import { expect, test } from "vitest";
import type { LogThreshold } from "../../lib/cli/service-log.ts";
import { createServiceLog } from "../../lib/cli/service-log.ts";
import type { RequestEvent } from "../../lib/http/request-event.ts";

const clock = () => Date.UTC(2026, 10, 20, 12);
const EVENT: RequestEvent = {
  requestId: "f81d4fae",
  method: "GET",
  path: "/v1/store/orders",
  operation: "listOrders",
  status: 200,
  durationMs: 1.26,
  accountId: "demo",
  bodyEnd: "complete",
};
const FAILURE: RequestEvent = { ...EVENT, status: 500, errorCode: "internal_error", error: new Error("no") };

function createFixture(
  logLevel: LogThreshold,
  { logAddresses = false, json = false, isTerminal = false } = {},
) {
  const lines: string[] = [];
  const screen = isTerminal ? (new PassThrough() as unknown as WriteStream) : undefined;
  const terminal = { log: (line: string) => void lines.push(line), screen };
  return { lines, ...createServiceLog(terminal, { logLevel, logAddresses }, { json, clock }) };
}

test("a pipe gets one line of JSON per request, with its path and without the address of the caller", () => {
  const { lines, onRequest } = createFixture("info");
  onRequest?.(EVENT, { address: "192.0.2.1" });
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    { at: "2026-11-20T12:00:00.000Z", level: "info", ...EVENT, durationMs: 1.3 },
  ]);
});

test("--log-addresses adds the address", () => {
  const { lines, onRequest } = createFixture("info", { logAddresses: true });
  onRequest?.(EVENT, { address: "192.0.2.1" });
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({ address: "192.0.2.1" });
});

test("a terminal gets a readable line, in which a path cannot control the terminal; --json keeps JSON", () => {
  const { lines, onRequest, write } = createFixture("info", { isTerminal: true, logAddresses: true });
  onRequest?.({ ...FAILURE, path: "/\u001b[2J" }, { address: "192.0.2.1" });
  write("info", "Stopped.");
  write("warn", "Order \u001b[2J");
  expect(lines).toEqual([
    "12:00:00 500 GET /\\u001b[2J 1.3 ms demo 192.0.2.1 internal_error (Error: no) f81d4fae",
    "Stopped.",
    "Order \\u001b[2J",
  ]);

  const withJson = createFixture("info", { isTerminal: true, json: true });
  withJson.onRequest?.(EVENT, {});
  expect(JSON.parse(withJson.lines[0] ?? "")).toMatchObject({ status: 200 });
});

test.each(["\u009b2J", "\u0085", "\u007f", "\u2028", "\u202e", "\u200b", "\n"])(
  "neither a line of JSON nor a readable one contains the character %j of a path, an address or a message",
  (character) => {
    for (const isTerminal of [false, true]) {
      const { lines, onRequest, write } = createFixture("info", { isTerminal, logAddresses: true });
      onRequest?.({ ...EVENT, path: `/${character}` }, { address: `192.0.2.1${character}` });
      write("warn", `a${character}`);
      for (const line of lines) expect(line).toMatch(/^[\x20-\x7e]+$/);
      if (isTerminal) continue;
      expect(JSON.parse(lines[0] ?? "").path).toBe(`/${character}`);
      expect(JSON.parse(lines[1] ?? "").message).toBe(`a${character}`);
    }
  },
);

test("no line contains a key that a proxy put into the address", () => {
  for (const isTerminal of [false, true]) {
    const { lines, onRequest } = createFixture("info", { isTerminal, logAddresses: true });
    onRequest?.(EVENT, { address: "so_test_demo_0123456789" });
    expect(lines[0]).not.toContain("0123456789");
  }
});

test.each([
  ["info", [200, 500], ["warn", "info"]],
  ["warn", [500], ["warn"]],
  ["error", [500], []],
  ["silent", [], []],
] as const)("--log-level %s logs the requests %j and the messages %j", (level, statuses, messages) => {
  const { lines, onRequest, write } = createFixture(level);
  onRequest?.(EVENT, {});
  onRequest?.(FAILURE, {});
  write("warn", "warn");
  write("info", "info");
  const entries = lines.map((line) => JSON.parse(line));
  expect(entries.flatMap(({ status = [] }) => status)).toEqual(statuses);
  expect(entries.flatMap(({ message = [] }) => message)).toEqual(messages);
});

test("with --log-level silent, the service does not describe requests at all", () => {
  expect(createFixture("silent").onRequest).toBeUndefined();
});

test("a request with an unknown method is no error of the service", () => {
  const { lines, onRequest } = createFixture("info");
  onRequest?.({ ...EVENT, method: "TRACE", status: 501, errorCode: "not_implemented" }, {});
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({ method: "TRACE", status: 501, level: "info" });
});

test("a message about many problems is cut, and keeps its level", () => {
  const { lines, write } = createFixture("info");
  write("warn", "problem; ".repeat(100_000));
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    {
      at: expect.any(String),
      level: "warn",
      message: expect.stringMatching(/^(problem; ){1000}.{0,1000}…$/),
    },
  ]);
  expect(lines[0]?.length).toBeLessThan(11_000);
});
