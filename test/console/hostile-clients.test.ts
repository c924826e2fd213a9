import { connect } from "node:net";
import { describe, expect, test } from "vitest";
import { generateKey } from "../../lib/accounts/api-key.ts";
import { type ConsoleFixture, postHeaders, signIn, useConsole } from "../support/console.ts";
import { sendRaw } from "../support/raw-request.ts";

const basePathOf = (console: ConsoleFixture) => new URL(console.at("x")).pathname.slice(0, -2);

/** Sends a request as another program on the machine can, with any line and any header. */
function send(console: ConsoleFixture, line: string, headers: readonly string[] = [], body = "") {
  const { host, port } = new URL(console.origin);
  const own = headers.some((header) => /^host:/i.test(header)) ? [] : [`Host: ${host}`];
  const all = [`${line} HTTP/1.1`, ...own, ...headers, "Connection: close"];
  return sendRaw(Number(port), `${all.join("\r\n")}\r\n\r\n${body}`);
}

const statusOf = (response: string) => Number(response.slice(9, 12));

test("without the session, no response tells where the browser sends the cookie", async () => {
  const console = await useConsole();
  await signIn(console);
  const form = [`Origin: ${console.origin}`, "Content-Type: application/x-www-form-urlencoded"];
  const responses = [
    await send(console, "GET /"),
    await send(console, "GET /start"),
    await send(console, "GET /console.js"),
    await send(console, "GET /console.css"),
    await send(console, "GET /", ["Host: example.com"]),
    await send(console, "GET /", ["Sec-Fetch-Site: cross-site"]),
    await send(console, "DELETE /"),
    await send(console, "POST /", [...form, "Content-Length: 7"], "token=x"),
    await send(console, "POST /", [...form, "Content-Length: 99999999"]),
    await send(console, "POST /session", [...form, "Content-Length: 7"], "token=x"),
  ];
  expect(responses.map(statusOf)).toEqual([401, 401, 200, 200, 403, 403, 405, 401, 413, 401]);
  for (const response of responses) expect(response).not.toContain(basePathOf(console).slice(1));
});

describe("the name of the console", () => {
  test.each([
    "127.0.0.1",
    "localhost",
    "LOCALHOST:PORT",
    "localhost.:PORT",
    "127.0.0.1.:PORT",
    "127.1:PORT",
    "2130706433:PORT",
    "0.0.0.0:PORT",
    "[::1]:PORT",
    "user@127.0.0.1:PORT",
    "127.0.0.1:PORT@example.com",
    "127.0.0.1:PORT\r\nHost: example.com",
    "example.com\r\nHost: 127.0.0.1:PORT",
    "",
  ])("Host: %j is rejected", async (host) => {
    const console = await useConsole();
    const cookie = await signIn(console);
    const header = `Host: ${host.replaceAll("PORT", new URL(console.origin).port)}`;
    const response = await send(console, `GET ${basePathOf(console)}/accounts`, [
      header,
      `Cookie: ${cookie}`,
    ]);
    expect([400, 403]).toContain(statusOf(response));
    expect(response).not.toContain("Accounts");
  });

  test.each(["http://example.com", "https://127.0.0.1:1"])(
    "a request line for %s is rejected",
    async (other) => {
      const console = await useConsole();
      const cookie = await signIn(console);
      const line = `GET ${other}${basePathOf(console)}/accounts`;
      expect(statusOf(await send(console, line, [`Cookie: ${cookie}`]))).toBe(403);
    },
  );
});

test("of 20 browsers that open the link at once, one gets the session", async () => {
  const console = await useConsole();
  const body = `token=${console.token}`;
  const headers = [
    `Origin: ${console.origin}`,
    "Content-Type: application/x-www-form-urlencoded",
    `Content-Length: ${body.length}`,
  ];
  const responses = await Promise.all(
    Array.from({ length: 20 }, () => send(console, `POST ${basePathOf(console)}/session`, headers, body)),
  );
  expect(responses.map(statusOf).sort()).toEqual([204, ...Array.from({ length: 19 }, () => 403)]);
  expect(responses.filter((response) => /^set-cookie:/im.test(response))).toHaveLength(1);
});

test("a malformed, unfinished or chunked form is rejected, and is no failure of the console", async () => {
  const console = await useConsole();
  const cookie = await signIn(console);
  const post = (path: string, headers: readonly string[], body: string) =>
    send(
      console,
      `POST ${basePathOf(console)}/${path}`,
      [`Origin: ${console.origin}`, `Cookie: ${cookie}`, ...headers],
      body,
    );
  const multipart = ["Content-Type: multipart/form-data; boundary=x", "Content-Length: 9"];
  const form = "Content-Type: application/x-www-form-urlencoded";
  expect(statusOf(await post("accounts", multipart, "--x\r\noops"))).toBe(403);
  expect(statusOf(await post("session", multipart, "--x\r\noops"))).toBe(403);
  expect(statusOf(await post("accounts", [form, "Content-Length: 9"], "%zz=%ff&="))).toBe(403);
  const chunked = await post("accounts", [form, "Transfer-Encoding: chunked"], "5\r\ntoken\r\n0\r\n\r\n");
  expect(statusOf(chunked)).toBe(413);
  await fetch(console.at("accounts"), {
    method: "POST",
    headers: { origin: console.origin, cookie, "content-type": "application/x-www-form-urlencoded" },
    body: new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode("token="));
        controller.error(new Error("The client has gone."));
      },
    }),
    duplex: "half",
  } as RequestInit).catch(() => {});
  expect(console.lines).toEqual([]);
});

test("300 connections of another program do not keep the operator out, and do not end the operator's", async () => {
  const console = await useConsole();
  const { host, port } = new URL(console.origin);
  const cookie = await signIn(console);
  const own = connect(Number(port), "127.0.0.1");
  const ask = () => {
    own.write(`GET ${basePathOf(console)}/accounts HTTP/1.1\r\nHost: ${host}\r\nCookie: ${cookie}\r\n\r\n`);
    return new Promise((resolve) =>
      own.once("data", (data) => resolve(statusOf(`${data}`))).once("close", resolve),
    );
  };
  expect(await ask()).toBe(200);
  const idle = Array.from({ length: 300 }, () => connect(Number(port), "127.0.0.1").on("error", () => {}));
  try {
    let closed = 0;
    for (const connection of idle) connection.once("close", () => closed++).resume();
    await expect.poll(() => closed).toBeGreaterThanOrEqual(200);
    expect(statusOf(await send(console, `GET ${basePathOf(console)}/start`))).toBe(200);
    expect(await ask()).toBe(200);
  } finally {
    for (const connection of [own, ...idle]) connection.destroy();
  }
});

test("what is pasted as the ID of an account, such as a key, becomes neither an address nor a header", async () => {
  const console = await useConsole();
  const cookie = await signIn(console);
  const page = await (await fetch(console.at("accounts"), { headers: { cookie } })).text();
  const token = /name="token" value="([^"]+)"/.exec(page)?.[1] ?? "";
  const open = (id: string) =>
    fetch(console.at("find-account"), {
      method: "POST",
      headers: { ...postHeaders(console), cookie },
      body: new URLSearchParams({ token, id }),
      redirect: "manual",
    });
  expect(/<form[^>]*action="[^"]*find-account"/.exec(page)?.[0]).toContain('method="post"');
  const key = generateKey("test", "acme");
  for (const id of [key, "x\r\nset-cookie: a=b", "//example.com", "..", ""]) {
    const response = await open(id);
    expect(response.status, id).toBe(422);
    expect(response.headers.get("location")).toBeNull();
    expect(await response.text()).not.toContain(key);
  }
  const found = await open(" acme ");
  expect([found.status, found.headers.get("location")]).toEqual([
    303,
    `${basePathOf(console)}/accounts/acme`,
  ]);
});
