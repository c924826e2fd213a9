import { createServer } from "node:http";
import { describe, expect, test } from "vitest";
import type { Handler } from "../../../lib/http/options.ts";
import { startNodeServer } from "../../../lib/node/index.ts";
import { createHandlerFixture } from "../../http/fixture.ts";
import { useCommandLine } from "../../support/command-line.ts";

const cli = useCommandLine();

type Break = (response: Response, request: Request) => Response | Promise<Response>;

/** A server with the real handler, whose responses can be broken. */
async function startService(breakResponse: Break = (response) => response) {
  const { handler, key, store } = await createHandlerFixture();
  const broken: Handler = async (request, context) => breakResponse(await handler(request, context), request);
  const server = await startNodeServer({ handler: broken, port: 0 });
  return { baseUrl: `${server.url}/v1`, key, store, [Symbol.asyncDispose]: () => server.close() };
}

interface Report {
  readonly ok: boolean;
  readonly checks: readonly { readonly check: string; readonly ok: boolean; readonly problems: string[] }[];
}

async function smoke(baseUrl: string, key: string, ...args: readonly string[]) {
  const { status, stdout, stderr } = await cli.run(["smoke", baseUrl, "--key", key, "--json", ...args]);
  const report: Report | undefined = stdout === "" ? undefined : JSON.parse(stdout);
  const failed = report?.checks.filter(({ ok }) => !ok) ?? [];
  return { status, stderr, report, failed };
}

const withHeader = (response: Response, name: string, value?: string) => {
  const headers = new Headers(response.headers);
  if (value === undefined) headers.delete(name);
  else headers.set(name, value);
  return new Response(response.body, { status: response.status, headers });
};
/** Sets a header of every response, or removes it. */
const header =
  (name: string, value?: string): Break =>
  (response) =>
    withHeader(response, name, value);
const list =
  (breakResponse: (response: Response) => Response | Promise<Response>): Break =>
  (response, { method, url, headers }) => {
    const isList = method === "GET" && url.endsWith("/orders");
    return isList && /^Bearer so_/.test(headers.get("authorization") ?? "")
      ? breakResponse(response)
      : response;
  };

test("a service that works passes every check, and the named order is cancelled", async () => {
  await using service = await startService();
  const { status, report } = await smoke(`${service.baseUrl}/`, service.key, "--order", "1");
  expect({ status, ok: report?.ok }).toEqual({ status: 0, ok: true });
  expect(report?.checks.map(({ check }) => check)).toEqual([
    ...["list", "headers", "limits", "no key", "wrong key", "readiness"],
    ...["cancel", "cancel again"],
  ]);
  expect(await service.store.orders.find(1n)).toMatchObject({ status: "cancelled" });
});

test("without an order nothing is cancelled, and the result is a table for people", async () => {
  await using service = await startService();
  const env = { STORE_ORDERS_KEY: service.key };
  const { status, stdout } = await cli.run(["smoke", service.baseUrl], { env });
  expect(status).toBe(0);
  expect(stdout).toMatch(/^check +result +problem\nlist +ok +-\n/);
  expect(stdout).not.toContain("cancel");
  expect(await service.store.orders.find(1n)).toMatchObject({ status: "pending" });
});

describe("a broken service exits with 1 and names the check and the problem:", () => {
  test.each<[string, Break, string, RegExp]>([
    [
      "a list that ends early",
      list(async (response) => new Response((await response.text()).slice(0, -1), response)),
      "list",
      /ends before the end/,
    ],
    [
      "a list that is a page of a proxy",
      list(() => withHeader(new Response("<html>"), "content-type", "text/html")),
      "list",
      /content-type is "text\/html"/,
    ],
    [
      "a redirect",
      list(() => Response.redirect("https://login.example.com/", 302)),
      "list",
      /status is 302 \(https:\/\/login\.example\.com\/\), expected 200/,
    ],
    ["a missing header", header("x-ratelimit-reset"), "headers", /x-ratelimit-reset is missing/],
    ["a cacheable list", header("cache-control", "public"), "headers", /cache-control is "public"/],
    ["requests that are not counted", header("x-ratelimit-remaining", "59"), "limits", /was not counted/],
    ["a 401 without a challenge", header("www-authenticate"), "no key", /www-authenticate is missing/],
    [
      "access without a key",
      (response, { headers }) => (headers.has("authorization") ? response : new Response("[]")),
      "no key",
      /status is 200, expected 401/,
    ],
    [
      "access with any key",
      (response, { headers }) =>
        /Bearer store/.test(headers.get("authorization") ?? "") ? new Response("[]") : response,
      "wrong key",
      /status is 200, expected 401/,
    ],
    [
      "a store that is down",
      (response, { url }) =>
        url.endsWith("/readyz") ? Response.json({ code: "store_unavailable" }, { status: 503 }) : response,
      "readiness",
      /503 \(store_unavailable\), expected 200/,
    ],
    [
      "a cancel without effect",
      (response, { method }) => (method === "DELETE" ? new Response(null, { status: 204 }) : response),
      "cancel again",
      /status is 204, expected 409/,
    ],
  ])("%s", async (_case, breakResponse, check, problem) => {
    await using service = await startService(breakResponse);
    const { status, report, failed } = await smoke(service.baseUrl, service.key, "--order", "1");
    expect({ status, ok: report?.ok }).toEqual({ status: 1, ok: false });
    expect(failed.find((each) => each.check === check)?.problems.join()).toMatch(problem);
  });
});

test("an order that cannot be cancelled exits with 1", async () => {
  await using service = await startService();
  const { status, failed } = await smoke(service.baseUrl, service.key, "--order", "2");
  expect(status).toBe(1);
  expect(failed.map(({ check }) => check)).toEqual(["cancel", "cancel again"]);
  expect(failed[0]?.problems).toEqual(["The status is 409 (order_already_shipped), expected 204."]);
});

test("a code with a line feed begins no line of the table", async () => {
  await using service = await startService(() => Response.json({ code: "a\nlist  ok" }, { status: 404 }));
  const { stdout } = await cli.run(["smoke", service.baseUrl, "--key", service.key]);
  expect(stdout).toMatch(/^list +failed +The status is 404 \(a\\nlist {2}ok\), expected 200\.$/m);
  expect(stdout).not.toMatch(/^list +ok/m);
});

test("a service that repeats the key in its responses does not put it into the report", async () => {
  await using service = await startService((_response, { headers }) => {
    const code = headers.get("authorization");
    const repeated = { location: `/${code}`, "cache-control": `${code}` };
    return Response.json({ code }, { status: 404, headers: repeated });
  });
  const { status, report } = await smoke(service.baseUrl, service.key);
  expect(status).toBe(1);
  expect(JSON.stringify(report)).not.toContain(service.key.slice(-20));
});

test("a service that does not respond, or is not there, exits with 3, without the key in the error", async () => {
  const silent = createServer((request) => request.destroy()).listen(0, "127.0.0.1");
  await new Promise((resolve) => silent.once("listening", resolve));
  const { port } = silent.address() as { port: number };
  const url = `http://127.0.0.1:${port}/v1`;
  const ended = await smoke(url, "so_test_secret");
  await new Promise((resolve) => silent.close(resolve));
  const closed = await smoke(url, "so_test_secret");
  for (const { status, stderr } of [ended, closed]) {
    expect(status).toBe(3);
    expect(JSON.parse(stderr)).toMatchObject({ code: "service_unreachable" });
    expect(stderr).not.toContain("secret");
  }
});

test.each([
  [["https://orders.example.com"], /Use a URL with its scheme that ends with \/v1, .* such as https:/],
  [["ftp://orders.example.com/v1"], /Use a URL with its scheme/],
  [["https://orders.example.com/v1/"], /--key or in STORE_ORDERS_KEY/],
  [["https://orders.example.com/v1", "--key", "a\nb"], /--key or in STORE_ORDERS_KEY/],
])("%j is a usage error", async (args, message) => {
  const { status, stderr } = await cli.run(["smoke", ...args]);
  expect(status).toBe(2);
  expect(stderr).toMatch(message);
});
