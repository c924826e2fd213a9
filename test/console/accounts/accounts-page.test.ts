import { beforeEach, expect, test } from "vitest";
import { NO_USAGE } from "../../../lib/plans/windows.ts";
import { follow, readTable, useSession } from "../../support/console.ts";

let console: Awaited<ReturnType<typeof useSession>>;
beforeEach(async () => {
  console = await useSession();
});

const get = async (path: string) => readTable(await console.get(path));

const IDS = Array.from({ length: 230 }, (_, index) => `shop-${String(index).padStart(3, "0")}`);

async function fill(): Promise<void> {
  for (const id of IDS) await console.store.accounts.create({ id, plan: "free", keys: [] });
}

test("every account is on one page, from which one can go to the next, the previous and the first", async () => {
  await fill();
  const forwards = await follow(console.get, await get("accounts"), "Next page");
  expect(forwards.flatMap(({ rows }) => rows)).toEqual(IDS);
  expect(forwards.map(({ links }) => Object.keys(links).filter((label) => label.endsWith("page")))).toEqual([
    ["Next page"],
    ["First page", "Next page"],
    ["First page", "Previous page", "Next page"],
    ["First page", "Previous page", "Next page"],
    ["First page", "Previous page"],
  ]);
  const last = forwards.at(-1) ?? expect.fail();
  const backwards = await follow(console.get, last, "Previous page", "First page");
  expect(backwards.map(({ rows }) => rows)).toEqual(forwards.toReversed().map(({ rows }) => rows));
});

test("an address names at most the last 50 pages, however many there are", async () => {
  await fill();
  const starts = Array.from({ length: 50 }, (_, index) => `shop-0${String(index).padStart(2, "0")}`);
  const { links } = await get(`accounts?after=${starts.join()}`);
  const after = new URLSearchParams(links["Next page"]?.split("?")[1]).get("after")?.split(",");
  expect(after).toEqual([...starts.slice(1), "shop-099"]);
});

test("an account that is created leads to its page, and one that is deleted to the list that it was opened from", async () => {
  await fill();
  const list = "after=shop-049,shop-099";
  const created = await console.post("accounts", { list, accountId: "shop-100a", plan: "free" });
  const text = await created.text();
  expect(new URL(created.url).pathname).toMatch(/\/accounts\/shop-100a$/);
  expect(text).toContain("The account shop-100a has been created. Issue its first key.");
  expect(text).toMatch(/href="[^"]*\/accounts\?after=shop-049,shop-099">← Back to the list/);
  const failed = await readTable(
    await console.post("accounts", { list, accountId: "shop-100a", plan: "free" }),
  );
  expect([failed.status, failed.rows[0]]).toEqual([422, "shop-100"]);

  const fields = { from: list, accountId: "shop-100a" };
  const deleted = await readTable(await console.post("accounts/shop-100a/delete", fields));
  expect([deleted.status, deleted.rows[0], deleted.rows.includes("shop-100a")]).toEqual([
    200,
    "shop-100",
    false,
  ]);
  expect(deleted.text).toContain("The account shop-100a has been deleted.");
  expect(await console.textOf("accounts?deleted=<b>")).toContain("The account &lt;b&gt; has been deleted.");
});

test("an address that names no page shows the first one, and a page after the last says so", async () => {
  await fill();
  const wrong = await get("accounts?after=<b>");
  expect([wrong.status, wrong.rows[0]]).toEqual([200, "shop-000"]);
  expect(wrong.text).not.toContain("<b>");
  expect((await get("accounts?after=z")).text).toContain("There are no more accounts.");
});

test("a ban is shown, except one that a clock nine years ahead wrote, because requests are served", async () => {
  const { accounts } = console.store;
  const key = { id: "ahead.1", hash: "1".repeat(64), createdAt: 0 };
  await accounts.create({ id: "ahead", plan: "free", keys: [key] });
  const nineYears = 9 * 365 * 86_400_000;
  const admit = (at: number) => accounts.admit({ accountId: "ahead", hash: key.hash }, at);
  const ban = async (at: number) => {
    await admit(at);
    await accounts.recordRejections({ accountId: "ahead", hash: key.hash }, 21, at);
  };
  await ban(console.clock() + nineYears);
  for (const path of ["accounts", "accounts/ahead"])
    expect(await console.textOf(path)).not.toContain("badge bad");
  await ban(console.clock());
  for (const path of ["accounts", "accounts/ahead"])
    expect(await console.textOf(path)).toContain('badge bad">banned');
  const lifted = await console.post("accounts/ahead/keys/ahead.1/unban");
  expect([lifted.status, /has been lifted/.test(await lifted.text())]).toEqual([200, true]);
  expect((await accounts.find("ahead"))?.rejections).toEqual({});
});

test("a filter finds the accounts that are banned, or near a limit, on as many pages as they take", async () => {
  console = await useSession({ clock: () => Date.UTC(2026, 10, 20) });
  await fill();
  const { accounts } = console.store;
  const now = console.clock();
  const admit = async (id: string, count: number) => {
    const key = { id: `${id}.k`, hash: id.padEnd(64, "0"), createdAt: 0 };
    await accounts.create({ id, plan: "free", keys: [key] });
    for (let request = 0; request < count; request++)
      await accounts.admit({ accountId: id, hash: key.hash }, now);
    if (count > 60) await accounts.recordRejections({ accountId: id, hash: key.hash }, 21, now);
  };
  const banned = Array.from({ length: 60 }, (_, index) => `a-${String(index).padStart(2, "0")}`);
  for (const id of banned) await admit(id, 81);
  await admit("near", 48);
  await admit("quiet", 47);
  const first = await get("accounts?show=banned");
  const pages = await follow(console.get, first, "Next page");
  expect(pages.map(({ rows }) => rows)).toEqual([banned.slice(0, 50), banned.slice(50)]);
  expect((await get(pages[1]?.links["First page"] ?? "")).rows).toEqual(first.rows);
  const near = await follow(console.get, await get("accounts?show=limit"), "Next page");
  expect(near.flatMap(({ rows }) => rows)).toEqual([...banned, "near"]);
  expect(near.at(-1)?.text).toMatch(/account-near[\s\S]*near a limit/);
  // The ban of a key that is revoked is over.
  const [revoked = ""] = banned;
  await console.post(`accounts/${revoked}/keys/${revoked}.k/revoke`);
  expect((await get("accounts?show=banned")).rows[0]).toBe(banned[1]);
  for (const id of banned) await accounts.delete(id);
  expect((await get("accounts?show=banned")).text).toContain("No account has a key that is banned now.");
  expect((await get("accounts?show=anything")).rows).toHaveLength(50);
});

test("the page of an account leads back to the page of the list that it was opened from, also after a change", async () => {
  await fill();
  const { text } = await get("accounts?after=shop-049,shop-099");
  const [, href = ""] = /<th[^>]*><a href="([^"]+)"/.exec(text) ?? [];
  const isBack = /href="[^"]*\/accounts\?after=shop-049,shop-099">← Back to the list/;
  expect(await console.textOf(href)).toMatch(isBack);
  const changed = await console.post("accounts/shop-100/plan", {
    plan: "pro",
    from: "after=shop-049,shop-099",
  });
  expect([changed.status, isBack.test(await changed.text())]).toEqual([200, true]);
  expect(await console.textOf("accounts/shop-100")).toMatch(/href="[^"]*\/accounts">← All accounts/);
});

test("an account can be banned and at a limit", async () => {
  const { accounts } = console.store;
  const key = { id: "banned.k", hash: "1".repeat(64), createdAt: 0 };
  await accounts.create({ id: "banned", plan: "free", keys: [key] });
  for (let request = 0; request < 60; request++)
    await accounts.admit({ accountId: "banned", hash: key.hash }, console.clock());
  await accounts.recordRejections({ accountId: "banned", hash: key.hash }, 21, console.clock());
  expect((await get("accounts")).text).toMatch(
    /badge bad">banned<[^>]*>, 15 min left<[\s\S]*badge bad">at a limit</,
  );
  for (const show of ["banned", "limit"])
    expect((await get(`accounts?show=${show}`)).rows).toEqual(["banned"]);
});

test("a store of many accounts is read in part for a filter, and the next page goes on from there", async () => {
  const { accounts, ...rest } = console.store;
  let read = 0;
  const list: typeof accounts.list = async function* (after = "a0000", limit = 0) {
    const from = Number(after.slice(1)) + 1;
    for (let at = from; at < Math.min(from + limit, 5_000); at++) {
      read++;
      yield {
        id: `a${String(at).padStart(4, "0")}`,
        plan: "free",
        keys: [],
        usage: NO_USAGE,
        rejections: {},
      };
    }
  };
  console = await useSession({ store: { ...rest, accounts: { ...accounts, list } } });
  read = 0;
  const first = await get("accounts?show=banned");
  expect([read, first.rows]).toEqual([3_000, []]);
  expect(first.text).toContain("The next page may have some.");
  expect(first.links["Next page"]).toMatch(/show=banned&after=a3000$/);
  const last = await get(first.links["Next page"] ?? "");
  expect([read, "Next page" in last.links]).toEqual([4_999, false]);
});

test("a store without accounts says what an account is", async () => {
  expect((await get("accounts")).text).toContain(
    "An account is a caller of the API: create one, then issue its key",
  );
});
