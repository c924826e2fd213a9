import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { createAccounts } from "../../lib/accounts/accounts.ts";
import { generateKey } from "../../lib/accounts/api-key.ts";
import { hashKey } from "../../lib/accounts/hash-key.ts";
import { DamagedOrderError } from "../../lib/orders/wire.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import { useSession } from "../support/console.ts";

let console: Awaited<ReturnType<typeof useSession>>;
beforeEach(async () => {
  const { orders, ...rest } = createMemoryStore();
  const find: typeof orders.find = async (id) => {
    if (id === 13n) throw new DamagedOrderError("The record of order 13 is damaged.");
    return orders.find(id);
  };
  console = await useSession({ store: { ...rest, orders: { ...orders, find } } });
  for (const id of ["acme", "acme-eu", "globex", "1001", "2002"])
    await console.store.accounts.create({ id, plan: "free", keys: [] });
  await console.store.orders.place([1001n, -7n].map((id) => ({ record: { id }, status: "pending" })));
});

const search = async (text: string) => {
  const response = await console.post("search", { text });
  const { pathname, search: query } = new URL(response.url);
  return {
    status: response.status,
    page: pathname.split("/").slice(2).join("/") + query,
    text: await response.text(),
  };
};

/** What is sought, its page, and what that shows. */
const FOUND = [
  ["acme", "accounts/acme", "<h1>acme</h1>"],
  ["  -7\n", "orders/-7", "Order -7"],
  ["2002", "accounts/2002", "<h1>2002</h1>"],
  ["1001", "orders/1001", "<h1>Order 1001</h1>"],
  ["13", "orders/13", "Order 13 is damaged"],
  [" Acme-EU ", "accounts/acme-eu", "<h1>acme-eu</h1>"],
  ["#1001", "orders/1001", "<h1>Order 1001</h1>"],
  ["Order 1001", "orders/1001", "<h1>Order 1001</h1>"],
  ["1,001", "orders/1001", "<h1>Order 1001</h1>"],
] as const;

test("what is found leads to its page", async () => {
  for (const [text, page, shown] of FOUND) {
    const found = await search(text);
    expect([found.status, found.page], text).toEqual([200, page]);
    expect(found.text, text).toContain(shown);
  }
});

/** What is sought, and what the answer says. */
const NOT_FOUND = [
  ["acm", "There is no account <code>acm</code>. These begin with it: <a"],
  ["Acm", "There is no account <code>Acm</code>. These begin with it: <a"],
  ["zzz", "There is no account <code>zzz</code>."],
  ["lobex", "None begins with it; only the beginnings of account IDs are searched."],
  ["1,01", "<code>1,01</code> is neither the ID of an order"],
  ["99", "There is neither an order nor an account <code>99</code>."],
  ["acme.k123456789", "<code>acme.k123456789</code> is neither the ID of an order"],
  ["9223372036854775808", "There is no account <code>9223372036854775808</code>."],
  ["//example.com", "<code>//example.com</code> is neither"],
  ["<img src=x>", "<code>&lt;img src=x&gt;</code> is neither"],
  ["so_live_acme_abc", "<code>so_live_acme_…</code> is not one whole key."],
  [`${generateKey("test", "acme")} ${generateKey("test", "acme")}`, "The text has several keys."],
  [generateKey("test", "acme"), "There is no such key of acme."],
] as const;

test("what is not found is named in the answer, unless it is a key", async () => {
  for (const [text, message] of NOT_FOUND) {
    const missing = await search(text);
    expect([missing.status, missing.page], text).toEqual([404, "search"]);
    expect(missing.text).toContain(message);
    expect(missing.text).not.toMatch(/so_test_acme_\w|<img/);
  }
});

test.each([5, 6])("of %i accounts that begin with what was sought, five are links", async (count) => {
  const ids = Array.from({ length: count }, (_, index) => `wonk-${index}`);
  for (const id of ["wonk", ...ids, "wonl"])
    await console.store.accounts.create({ id, plan: "free", keys: [] });
  const { text } = await search("wonk-");
  expect([...text.matchAll(/\/accounts\/(wonk?l?[^"]*)"/g)].map(([, id]) => id)).toEqual(ids.slice(0, 5));
  expect(text.includes("and more.")).toBe(count === 6);
});

test("a search for nothing says what can be sought", async () => {
  const { status, text } = await search(" ");
  expect([status, text.includes("Not found")]).toEqual([404, false]);
  expect(text).toContain("Type the ID of an order or an account, a key, or the name of a domain.");
});

test("a key, within any text, or its identifier leads to its account; the key is in no address, page or log", async () => {
  const issued = await console.post("accounts/acme/keys");
  const [, key = ""] = /id="issued-key">(so_test_acme_\w+)</.exec(await issued.text()) ?? [];
  const [{ id } = expect.fail()] = (await console.store.accounts.find("acme"))?.keys ?? [];
  for (const text of [`Authorization: Bearer ${key}\n`, key, id]) {
    const found = await search(text);
    expect([found.status, found.page]).toEqual([200, `accounts/acme?key=${id}`]);
    expect(found.text).toContain(`The key is <a href="#key-${id}"><code>${id}</code></a>`);
    expect(found.text).toContain(`<tr id="key-${id}"`);
    expect(found.text).not.toContain(key);
  }
  expect(console.lines).toEqual([]);
  for (const method of ["GET", "HEAD"])
    expect(
      (await fetch(console.at(`search?text=${key}`), { method, headers: { cookie: console.cookie } })).status,
    ).toBe(404);
});

describe("domains", () => {
  const HOSTS = ["orders.example.com", "www.example.com", "xn--caf-dma.example.org"];
  beforeEach(async () => {
    const directory = mkdtempSync(join(tmpdir(), "console-search-"));
    onTestFinished(() => rmSync(directory, { recursive: true }));
    const path = join(directory, "domains.yaml");
    const [primary, ...aliases] = HOSTS;
    writeFileSync(path, JSON.stringify({ domains: { primary, aliases } }));
    const probe = async () => ({ outcome: "unreachable", found: "" }) as const;
    console = await useSession({
      domains: { path, plan: "pro", probe, resolver: async () => ({ outcome: "nodata" }), authorities: [] },
    });
  });

  test.each([
    [" Orders.Example.com. ", "orders.example.com"],
    ["café.example.org", "xn--caf-dma.example.org", " (café.example.org)"],
  ])("'%s' leads to the domain %s", async (text, host, written = "") => {
    const title = expect.stringContaining(`<h1>${host}${written}</h1>`);
    expect(await search(text)).toMatchObject({ status: 200, page: `domains/${host}`, text: title });
  });

  test.each(["example.com", "shop.example.com", "WWW"])("'%s' is no domain", async (text) => {
    const missing = await search(text);
    expect(missing.status).toBe(404);
    expect(missing.text).toMatch(/is neither [^.]* nor a\s+domain\.|There is no account/);
    expect(missing.text).not.toMatch(/\/domains\/[^"]+"/);
  });
});

test("a search for what could be the name of a key says that names are not searched", async () => {
  for (const text of ["scanner", "nightly import"])
    expect((await search(text)).text).toContain("A key is found by itself or by its ID, not by its name.");
});

test("a key of another system leads to the account that imported it, alone or within a header", async () => {
  const accounts = createAccounts({ store: console.store.accounts, environment: "test" });
  const imported = await accounts.importKey("globex", { hash: hashKey("sk_live_11c9") });
  const page = `accounts/globex?key=${imported.ok && imported.keyId}`;
  for (const text of ["sk_live_11c9", "x-api-key: sk_live_11c9"])
    expect(await search(text)).toMatchObject({ status: 200, page });
  const several = await search(`sk_live_11c9 ${generateKey("test", "acme")}`);
  expect([several.status, several.text.includes("The text has several keys.")]).toEqual([404, true]);
  expect(await search("sk_live_other")).toMatchObject({ status: 404 });
});
