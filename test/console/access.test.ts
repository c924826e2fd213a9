import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, describe, expect, test } from "vitest";
import { createAccounts } from "../../lib/accounts/accounts.ts";
import { generateKey } from "../../lib/accounts/api-key.ts";
import { hashKey } from "../../lib/accounts/hash-key.ts";
import { StoreUnavailableError } from "../../lib/core/errors.ts";
import { AUTHORITIES } from "../../lib/domains/verification/caa.ts";
import type { DnsResolver } from "../../lib/domains/verification/resolver.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import { type ConsoleFixture, postHeaders, signIn, useConsole, useSession } from "../support/console.ts";

describe("the link", () => {
  const redeem = (console: ConsoleFixture, token: string, headers: Record<string, string> = {}) =>
    fetch(console.at("session"), {
      method: "POST",
      headers: { ...postHeaders(console), ...headers },
      body: new URLSearchParams({ token }),
    });

  test("the cookie is unreadable for scripts, of this console only, and of no other path", async () => {
    const console = await useConsole();
    const response = await redeem(console, console.token);
    const { port } = new URL(console.origin);
    const path = new URL(console.at("")).pathname;
    expect(path).toMatch(/^\/[\w-]{16}\/$/);
    expect(response.headers.getSetCookie()).toEqual([
      expect.stringMatching(
        new RegExp(`^store-orders-console-${port}=[\\w-]{43}; Path=${path}; HttpOnly; SameSite=Strict$`),
      ),
    ]);
  });

  test("it works once; in another browser it says that it has been used, and how to get another one", async () => {
    const console = await useConsole();
    await signIn(console);
    const again = await redeem(console, console.token);
    expect(again.status).toBe(403);
    expect(again.headers.getSetCookie()).toEqual([]);
    const page = await again.text();
    expect(page).toContain("This link has been used");
    expect(page).toContain("If it was not you, stop the console now.");
    expect(page).toContain("store-orders console");
  });

  test("in the browser that has the session, it leads in again, also if it is incomplete", async () => {
    const console = await useSession();
    const { cookie } = console;
    for (const token of [console.token, console.token.slice(0, 20), ""]) {
      const response = await redeem(console, token, { cookie });
      expect([response.status, response.headers.getSetCookie()]).toEqual([204, []]);
    }
  });

  test.each(["", "x", "truncated", "mistyped"])(
    "a link that is %j starts no session, raises no alarm, and does not use up the link",
    async (kind) => {
      const console = await useConsole();
      const tokens: Record<string, string> = {
        truncated: console.token.slice(0, -1),
        mistyped: `${console.token.slice(1)}x`,
      };
      const attempt = async () => {
        const response = await redeem(console, tokens[kind] ?? kind);
        expect([response.status, response.headers.getSetCookie()]).toEqual([403, []]);
        const page = await response.text();
        expect(page).toContain("This link is incomplete");
        expect(page).not.toContain("has been used");
      };
      await attempt();
      expect(await signIn(console)).toMatch(/^store-orders-console-/);
      await attempt();
    },
  );
});

test("before the link has been used, no cookie is valid", async () => {
  const console = await useConsole();
  const { port } = new URL(console.origin);
  const cookie = `store-orders-console-${port}=undefined`;
  expect((await fetch(console.at("accounts"), { headers: { cookie } })).status).toBe(401);
});

test("a store that cannot be reached and a defect are readable pages without a stack trace", async () => {
  const store = createMemoryStore();
  let error: Error = new StoreUnavailableError("The store does not answer.");
  const accounts = {
    ...store.accounts,
    // biome-ignore lint/correctness/useYield: it fails first.
    async *list() {
      throw error;
    },
  };
  const console = await useConsole({ store: { ...store, accounts } });
  const headers = { cookie: await signIn(console) };
  const unavailable = await fetch(console.at("accounts"), { headers });
  expect(unavailable.status).toBe(503);
  expect(await unavailable.text()).toContain("The store does not answer.");
  error = new TypeError("x is undefined");
  const failed = await fetch(console.at("accounts"), { headers });
  expect(failed.status).toBe(500);
  expect(await failed.text()).not.toMatch(/undefined|\bat \w/);
  expect(console.lines).toEqual(["error: x is undefined"]);
});

const basePathOf = (console: ConsoleFixture) => new URL(console.at("x")).pathname.slice(0, -2);

/** Sends a request as another program on the machine can, with any line and any header. */
function send(console: ConsoleFixture, line: string, headers: readonly string[] = [], body = "") {
  const { host, hostname, port } = new URL(console.origin);
  const own = headers.some((header) => /^host:/i.test(header)) ? [] : [`Host: ${host}`];
  const all = [`${line} HTTP/1.1`, ...own, ...headers, "Connection: close"];
  const socket = connect(Number(port), hostname);
  socket.write(`${all.join("\r\n")}\r\n\r\n${body}`, "latin1");
  return text(socket);
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

/** Asks for a page with the session's cookie, and with further headers. */
const ask = (console: Awaited<ReturnType<typeof useSession>>, path: string, ...headers: readonly string[]) =>
  send(console, `GET ${path}`, [`Cookie: ${console.cookie}`, ...headers]);

/** As a rebound DNS name would send them. */
const FOREIGN_HOSTS = [
  "LOCALHOST:PORT",
  "localhost.:PORT",
  "127.0.0.1.:PORT",
  "127.1:PORT",
  "2130706433:PORT",
  "0.0.0.0:PORT",
  "[::1]:PORT",
  "127.0.0.1:",
  "127.0.0.1:1:1",
  "127.0.0.1.example.com:PORT",
  "user@127.0.0.1:PORT",
  "127.0.0.1:PORT@example.com",
  "127.0.0.1:PORT\r\nHost: example.com",
  "example.com\r\nHost: 127.0.0.1:PORT",
  "",
];

test("another Host is rejected, and a request line for another host", async () => {
  const console = await useSession();
  const { port } = new URL(console.origin);
  for (const host of FOREIGN_HOSTS) {
    const header = `Host: ${host.replaceAll("PORT", port)}`;
    const response = await ask(console, `${basePathOf(console)}/accounts`, header);
    expect([400, 403], host).toContain(statusOf(response));
    expect(response, host).not.toContain("Accounts");
  }
  for (const other of ["http://example.com", "https://127.0.0.1:1"])
    expect(statusOf(await ask(console, `${other}${basePathOf(console)}/accounts`)), other).toBe(403);
});

test("behind a port that SSH forwards, the console serves its pages, and changes only from the forwarded page", async () => {
  const console = await useSession();
  const statusOfPost = async (host: string, origin: string) =>
    statusOf(
      await send(console, `POST ${basePathOf(console)}/session`, [
        ...[`Host: ${host}`, `Origin: ${origin}`, "Content-Type: application/x-www-form-urlencoded"],
        ...[`Cookie: ${console.cookie}`, "Content-Length: 0"],
      ]),
    );
  for (const host of ["127.0.0.1:9000", "localhost:9000", "localhost"]) {
    expect(statusOf(await ask(console, `${basePathOf(console)}/accounts`, `Host: ${host}`))).toBe(200);
    expect(await statusOfPost(host, `http://${host}`)).toBe(204);
    expect(await statusOfPost(host, "http://localhost:3000")).toBe(403);
  }
});

test("localhost is the console's own name, an address can be typed, and only the entry can be reached from another page", async () => {
  const console = await useSession();
  const statusWith = async (path: string, header: string) =>
    statusOf(await ask(console, `${basePathOf(console)}/${path}`, header));
  expect(await statusWith("accounts", `Host: localhost:${new URL(console.origin).port}`)).toBe(200);
  expect(await statusWith("accounts", "Sec-Fetch-Site: none")).toBe(200);
  for (const site of ["cross-site", "same-site"]) {
    expect(await statusWith("start", `Sec-Fetch-Site: ${site}`)).toBe(200);
    expect(await statusWith("accounts", `Sec-Fetch-Site: ${site}`)).toBe(403);
  }
});

test("another method gets 405, and a form of more than 64 KiB gets 413", async () => {
  const console = await useSession();
  for (const method of ["PUT", "DELETE", "OPTIONS", "TRACE"]) {
    const response = await send(console, `${method} ${basePathOf(console)}/accounts`, [
      `Cookie: ${console.cookie}`,
    ]);
    expect(statusOf(response), method).toBe(405);
  }
  expect((await console.post("accounts", { token: "x".repeat(70_000) })).status).toBe(413);
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
  const console = await useSession();
  const { cookie } = console;
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
  const session = `POST ${basePathOf(console)}/session`;
  expect(
    statusOf(await send(console, session, [`Origin: ${console.origin}`, ...multipart], "--x\r\noops")),
  ).toBe(403);
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

const DOMAIN = "orders.example.com";

/** Every form of the pages, with the names of its fields. */
async function formsOf({ store, textOf }: Awaited<ReturnType<typeof useSession>>) {
  await store.orders.place([{ record: { id: 1n }, status: "pending" }]);
  const accounts = createAccounts({ store: store.accounts, environment: "test" });
  await accounts.create("acme", { plan: "free" });
  const issued = await accounts.issueKey("acme", { name: "scanner" });
  if (!issued.ok) throw new Error(issued.code);
  // Banned, so that its ban can be lifted.
  await store.accounts.recordRejections({ accountId: "acme", hash: hashKey(issued.key) }, 25, Date.now());
  const pages = ["accounts", "accounts/acme", "orders", "orders/1", "domains", `domains/${DOMAIN}`];
  const texts = await Promise.all(pages.map(textOf));
  return texts.flatMap((text) =>
    [...text.matchAll(/<form([^>]*)>([\s\S]*?)<\/form>/g)].map(([, attributes = "", body = ""]) => ({
      attributes,
      action: /action="([^"]*)"/.exec(attributes)?.[1] ?? "",
      names: [...body.matchAll(/name="([^"]+)"/g)].flatMap(([, name]) => name ?? []),
    })),
  );
}
/** Everything that a change could have changed. */
async function contentOf({ store }: ConsoleFixture) {
  const { orders } = await store.orders.page({ limit: 10 });
  return [await store.accounts.find("acme"), orders];
}

test("no page is shown, and no form changes anything, without the session, by another name or from another page", async () => {
  const console = await useSession();
  const { cookie, token } = console;
  const forms = await formsOf(console);
  const actions = forms.map(({ action }) => action.slice(basePathOf(console).length + 1));
  for (const name of ["search", "accounts/acme/delete", "unban", "orders/1/cancel"])
    expect(
      actions.some((action) => action.endsWith(name)),
      name,
    ).toBe(true);
  const pages = [
    ...[
      "accounts?after=a",
      "accounts/acme?key=acme.1",
      "orders?status=pending&sort=lowest",
      "orders?before=",
    ],
    ...["accounts/acme", "orders/1", "orders/1/ship", "domains", "nothing"],
  ];
  const { host, port } = new URL(console.origin);
  const [session, own] = [`Cookie: ${cookie}`, `Origin: ${console.origin}`];
  const before = await contentOf(console);
  for (const headers of [
    [own],
    [own, `Cookie: ${cookie.slice(0, -1)}`],
    [own, session, `Host: rebound.example.com:${port}`],
    [own, session, `Host: ${host}.`],
    [own, session, "Sec-Fetch-Site: cross-site"],
    [own, session, "Sec-Fetch-Site: same-site"],
  ]) {
    for (const path of pages) {
      const response = await send(console, `GET ${basePathOf(console)}/${path}`, headers);
      expect([path, headers, [400, 401, 403].includes(statusOf(response))]).toEqual([path, headers, true]);
      expect(response).not.toMatch(/acme|scanner/);
    }
  }
  for (const { action, names } of forms) {
    const full = new URLSearchParams(names.map((name): [string, string] => [name, "acme"]));
    full.set("token", token);
    const wrong = new URLSearchParams(full);
    wrong.set("token", `${token.slice(1)}x`);
    for (const [headers, body] of [
      [[own], full],
      [[own, session], new URLSearchParams({ accountId: "acme" })],
      [[own, session], wrong],
      [[session], full],
      [[session, "Origin: null"], full],
      [[session, `Origin: http://localhost:${port}`], full],
      ...["cross-site", "same-site", "none"].map(
        (site) => [[own, session, `Sec-Fetch-Site: ${site}`], full] as const,
      ),
      [[session, "Origin: https://example.com"], full],
      [[own, session, `Host: rebound.example.com:${port}`], full],
      [
        [own.replace(host, `rebound.example.com:${port}`), session, `Host: rebound.example.com:${port}`],
        full,
      ],
    ] as const) {
      const form = ["Content-Type: application/x-www-form-urlencoded", `Content-Length: ${`${body}`.length}`];
      const response = await send(console, `POST ${action}`, [...headers, ...form], `${body}`);
      expect([action, headers, [400, 401, 403].includes(statusOf(response))]).toEqual([
        action,
        headers,
        true,
      ]);
    }
  }
  expect(await contentOf(console)).toEqual(before);
});

const STRANGE_PATHS = [
  "accounts/../accounts/acme",
  "%61ccounts/%2e%2e/accounts/acme",
  "/accounts/acme",
  "accounts//acme",
  "accounts/acme/",
  "accounts/acme%2fdelete",
  "accounts/acme;x=1",
  "accounts/acme%00",
  "orders/1%0d%0aSet-Cookie:%20a=b",
  "orders/%31/cancel",
  "orders/1\\..\\cancel",
  "orders/%zz",
];

test("a path in another spelling shows nothing without the session, and changes nothing with it", async () => {
  const console = await useSession();
  await formsOf(console);
  const before = await contentOf(console);
  for (const path of STRANGE_PATHS) {
    const line = `GET ${basePathOf(console)}/${path}`;
    expect(await send(console, line), path).not.toMatch(/scanner|Set-Cookie: a/i);
    const response = await send(console, line, [`Cookie: ${console.cookie}`]);
    expect([200, 400, 404], path).toContain(statusOf(response));
    expect(response, path).not.toMatch(/^Set-Cookie/im);
    expect(await contentOf(console), path).toEqual(before);
  }
  expect(console.lines).toEqual([]);
});

describe("what is pasted into a form by mistake", () => {
  const key = generateKey("test", "acme");
  const verification = {
    resolver: (async () => ({ outcome: "nodata" })) as DnsResolver,
    authorities: [AUTHORITIES.amazon],
  } as const;
  const probe = async () => ({ outcome: "unreachable", found: "" }) as const;

  const directory = mkdtempSync(join(tmpdir(), "console-forms-"));
  const path = join(directory, "domains.yaml");
  writeFileSync(path, "domains:\n  primary: orders.example.com\n  aliases: [www.example.com]\n");
  afterAll(() => rmSync(directory, { recursive: true }));

  test.each([undefined, "platform.example.net"])(
    "a key becomes neither an address nor part of a page, in no field of any form (target: %s)",
    async (target) => {
      const domains = { path, plan: "pro", ...(target && { target }), ...verification, probe } as const;
      const console = await useSession({ domains });
      const { cookie, token } = console;
      const forms = await formsOf(console);
      expect(forms.length).toBeGreaterThan(10);
      for (const { attributes, action, names } of forms) {
        expect(attributes).toContain('method="post"');
        const body = new URLSearchParams(names.map((name): [string, string] => [name, key]));
        body.set("token", token);
        const url = new URL(action, console.origin);
        const headers = { ...postHeaders(console), cookie };
        const response = await fetch(url, { method: "POST", headers, body, redirect: "manual" });
        expect(response.headers.get("location") ?? "", action).not.toContain(key);
        expect(await response.text(), action).not.toContain(key);
      }
      expect(console.lines.join()).not.toContain(key);
    },
  );
});
