import { expect, test } from "vitest";
import { timeOf } from "../../lib/console/page.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import { useConsole, useSession } from "../support/console.ts";

test("what a store or a form contains is text in the page", async () => {
  const store = createMemoryStore();
  const hostile = `"><script>alert(1)</script>`;
  const key = { id: `${hostile}.1`, hash: hostile, name: hostile, createdAt: 0, successorId: hostile };
  await store.accounts.create({ id: hostile, plan: `${hostile}plan`, keys: [key] });
  const order = { record: { id: 1n, shipDate: hostile }, status: "pending" } as const;
  await store.orders.place([order], 0, { by: hostile, requestId: hostile });
  const console = await useSession({ store, storeName: hostile });
  const fields = { accountId: hostile, plan: hostile, id: hostile, perDay: hostile };
  const escaped = encodeURIComponent(hostile);
  const pages = await Promise.all([
    console.get("accounts"),
    console.get(`accounts/${escaped}`),
    console.get(`accounts/${escaped}?key=${escaped}.${escaped}`),
    console.get("orders"),
    console.get("orders/1"),
    console.get(`orders?status=${escaped}&sort=${escaped}&after=${escaped}`),
    console.post("search", { text: hostile }),
    console.post("accounts", fields),
    console.post(`accounts/${escaped}/keys/${escaped}.1/revoke`, fields),
  ]);
  for (const page of pages) {
    const text = await page.text();
    expect(text, page.url).toContain("&lt;script&gt;");
    expect(text, page.url).not.toContain("<script>");
  }
});

test("every response forbids inline scripts, framing, caching and referrers", async () => {
  const console = await useSession();
  for (const path of ["start", "accounts", "/console.js", "/console.css", "/idiomorph.js", "nothing"]) {
    const { headers } = await console.get(path);
    expect(headers.get("content-security-policy"), path).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    );
    expect(headers.get("cache-control"), path).toBe("no-store");
    expect(headers.get("referrer-policy"), path).toBe("no-referrer");
    expect(headers.get("x-content-type-options"), path).toBe("nosniff");
  }
});

test("starting the console does not replace the global Request and Response", async () => {
  const globals = [Request, Response];
  await useConsole();
  expect([Request, Response]).toEqual(globals);
});

test("a console that was started without domains has no section about them", async () => {
  const console = await useSession();
  expect(await console.textOf("accounts")).not.toContain("Domains");
  expect((await console.get("domains")).status).toBe(404);
});

test.each([
  [0, "just now"],
  [-59_999, "just now"],
  [1, "in a moment"],
  [-60_000, "1 minute ago"],
  [-150_000, "2 minutes ago"],
  [-3_600_000, "1 hour ago"],
  [7_300_000, "in 2 hours"],
  [-86_399_999, "23 hours ago"],
  [-86_400_000, "2026-11-19"],
  [86_400_000, "2026-11-21"],
])("a time %d ms from now is '%s', with the whole of it on hover", async (distance, text) => {
  const now = Date.UTC(2026, 10, 20, 9, 30, 12);
  const full = new Date(now + distance).toISOString().slice(0, 19).replace("T", " ");
  expect(`${await timeOf(now + distance, now)}`).toBe(`<time title="${full} UTC">${text}</time>`);
});
