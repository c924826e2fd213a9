import { beforeEach, expect, test } from "vitest";
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
  expect(forwards.map(({ links }) => Object.keys(links))).toEqual([
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

test("an account that is created on another page of the list is answered with that page", async () => {
  await fill();
  const post = async (path: string, fields: Record<string, string>) =>
    readTable(await console.post(path, { list: "shop-049,shop-099", ...fields }));
  const created = await post("accounts", { account: "shop-100a", plan: "free" });
  expect(created.rows.slice(0, 2)).toEqual(["shop-100", "shop-100a"]);
  expect((await post("find-account", { id: "No ID" })).rows[0]).toBe("shop-100");
  expect((await post("accounts", { account: "new", plan: "free", list: "<b>,x" })).rows[0]).toBe("new");
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
  for (let request = 0; request < 90; request++) await admit(console.clock() + nineYears);
  for (const path of ["accounts", "accounts/ahead"])
    expect(await console.textOf(path)).not.toContain("banned");
  for (let request = 0; request < 90; request++) await admit(console.clock());
  for (const path of ["accounts", "accounts/ahead"]) expect(await console.textOf(path)).toContain("banned");
  const lifted = await console.post("accounts/ahead/keys/ahead.1/unban");
  expect([lifted.status, /has been lifted/.test(await lifted.text())]).toEqual([200, true]);
  expect((await accounts.find("ahead"))?.rejections).toEqual({});
});
