import { request } from "node:http";
import { describe, expect, test } from "vitest";
import { StoreUnavailableError } from "../../lib/errors.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import { formToken, postHeaders, signIn, useConsole } from "../support/console.ts";

/** Sends a request with any header, also those that `fetch` sets itself. */
function raw(
  url: string,
  headers: Record<string, string>,
  method = "GET",
): Promise<{ status?: number; text: string }> {
  return new Promise((resolve, reject) => {
    request(url, { method, headers }, async (response) => {
      const parts = await response.toArray();
      resolve({
        ...(response.statusCode === undefined ? {} : { status: response.statusCode }),
        text: parts.join(""),
      });
    })
      .on("error", reject)
      .end();
  });
}

describe("the link", () => {
  test("it starts a session, and then the pages are served", async () => {
    const console = await useConsole();
    const cookie = await signIn(console);
    const response = await fetch(console.at("accounts"), { headers: { cookie } });
    expect(response.status).toBe(200);
    expect(await response.text()).toContain("<h1>Accounts</h1>");
  });

  test("the cookie is unreadable for scripts, of this console only, and of no other path", async () => {
    const console = await useConsole();
    const response = await fetch(console.at("session"), {
      method: "POST",
      headers: postHeaders(console),
      body: new URLSearchParams({ token: console.token }),
    });
    const { port } = new URL(console.origin);
    const path = new URL(console.at("")).pathname;
    expect(path).toMatch(/^\/[\w-]{16}\/$/);
    expect(response.headers.getSetCookie()).toEqual([
      expect.stringMatching(
        new RegExp(`^store-orders-console-${port}=[\\w-]{43}; Path=${path}; HttpOnly; SameSite=Strict$`),
      ),
    ]);
  });

  test("it works once, and the second time it says how to get another one", async () => {
    const console = await useConsole();
    await signIn(console);
    const body = new URLSearchParams({ token: console.token });
    const again = await fetch(console.at("session"), { method: "POST", headers: postHeaders(console), body });
    expect(again.status).toBe(403);
    expect(again.headers.getSetCookie()).toEqual([]);
    const page = await again.text();
    expect(page).toContain("This link has been used");
    expect(page).toContain("store-orders console");
  });

  test("a wrong token starts no session, and does not use up the link", async () => {
    const console = await useConsole();
    const body = new URLSearchParams({ token: `${console.token.slice(1)}x` });
    const wrong = await fetch(console.at("session"), { method: "POST", headers: postHeaders(console), body });
    expect(wrong.status).toBe(403);
    expect(await signIn(console)).toMatch(/^store-orders-console-/);
  });
});

describe("without the session", () => {
  test("an address alone gives no access, and neither does another user's request or a made-up cookie", async () => {
    const console = await useConsole();
    const cookie = await signIn(console);
    const [name = ""] = cookie.split("=");
    for (const headers of [{}, { cookie: `${name}=` }, { cookie: `${name}=${"x".repeat(43)}` }]) {
      const response = await fetch(console.at("accounts"), { headers });
      expect(response.status).toBe(401);
      expect(await response.text()).not.toContain("Accounts");
    }
    expect((await fetch(`${console.origin}/accounts`, { headers: { cookie } })).status).toBe(404);
  });

  test("before the link has been used, no cookie is valid", async () => {
    const console = await useConsole();
    const { port } = new URL(console.origin);
    const cookie = `store-orders-console-${port}=undefined`;
    expect((await fetch(console.at("accounts"), { headers: { cookie } })).status).toBe(401);
  });
});

describe("with the session's cookie", () => {
  test("a DNS name that points at the console gets nothing", async () => {
    const console = await useConsole();
    const cookie = await signIn(console);
    const { port } = new URL(console.origin);
    const { status, text } = await raw(console.at("accounts"), {
      cookie,
      host: `rebound.example.com:${port}`,
    });
    expect(status).toBe(403);
    expect(text).not.toContain("Accounts");
  });

  test("a change without the session's token, or from another origin, is rejected", async () => {
    const console = await useConsole();
    const cookie = await signIn(console);
    const token = await formToken(console, cookie);
    const send = (fields: Record<string, string>, headers: Record<string, string> = {}) =>
      fetch(console.at("accounts"), {
        method: "POST",
        headers: { ...postHeaders(console), cookie, ...headers },
        body: new URLSearchParams({ account: "acme", plan: "pro", ...fields }),
      });
    expect((await send({})).status).toBe(403);
    expect((await send({ token: "x" })).status).toBe(403);
    expect((await send({ token }, { origin: "https://example.com" })).status).toBe(403);
    expect((await send({ token }, { "sec-fetch-site": "same-site" })).status).toBe(403);
    expect(await console.store.accounts.find("acme")).toBeUndefined();
    expect((await send({ token })).status).toBe(200);
    expect(await console.store.accounts.find("acme")).toBeDefined();
  });

  test("another method gets 405, and a form of more than 64 KiB gets 413", async () => {
    const console = await useConsole();
    const cookie = await signIn(console);
    expect((await raw(console.at("accounts"), { cookie }, "DELETE")).status).toBe(405);
    const body = new URLSearchParams({ token: "x".repeat(70_000) });
    const headers = { ...postHeaders(console), cookie };
    expect((await fetch(console.at("accounts"), { method: "POST", headers, body })).status).toBe(413);
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
    const cookie = await signIn(console);
    const unavailable = await fetch(console.at("accounts"), { headers: { cookie } });
    expect(unavailable.status).toBe(503);
    expect(await unavailable.text()).toContain("The store does not answer.");
    error = new TypeError("x is undefined");
    const failed = await fetch(console.at("accounts"), { headers: { cookie } });
    expect(failed.status).toBe(500);
    expect(await failed.text()).not.toMatch(/undefined|\bat \w/);
    expect(console.lines).toEqual(["error: x is undefined"]);
  });
});
