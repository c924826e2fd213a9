import { beforeEach, describe, expect, test } from "vitest";
import { generateKey } from "../../../lib/accounts/api-key.ts";
import { useSession } from "../../support/console.ts";

let console: Awaited<ReturnType<typeof useSession>>;
beforeEach(async () => {
  console = await useSession();
});

const post = async (path: string, fields: Record<string, string> = {}) => {
  const response = await console.post(path, fields);
  return { status: response.status, url: response.url, text: await response.text() };
};

test.each<[string, string, Record<string, string>, string, string]>([
  ["accounts", "create-account", { account: "Acme!", plan: "free" }, "account", "Use 1 to 32 lower-case"],
  [
    "accounts",
    "create-perDay",
    { account: "a", plan: "enterprise", perMinute: "5" },
    "perDay",
    "Give a whole",
  ],
  ["accounts/acme/keys", "issue-expires", { expires: "2001-01-01" }, "expires", "Give a time in the future."],
  ["accounts/acme/keys", "issue-expires", { expires: "2030-02-31" }, "expires", "Give a date, such as"],
  ["accounts/acme/keys", "issue-expires", { expires: "soon" }, "expires", "Give a date, such as"],
])(
  "a form sent to %s shows the error at %s, and keeps what was entered",
  async (path, id, fields, name, error) => {
    await console.store.accounts.create({ id: "acme", plan: "free", keys: [] });
    const { status, text } = await post(path, fields);
    expect(status).toBe(422);
    expect(text).toContain(`id="${id}-error">${error}`);
    expect(text).toContain(`</strong> ${name}: ${error}`);
    if (fields[name] !== undefined) expect(text).toContain(`value="${fields[name]}"`);
    expect((await console.store.accounts.find("acme"))?.keys).toEqual([]);
  },
);

test("a key is rotated with an overlap, and one that no form offers is rejected by the name of its field", async () => {
  await console.store.accounts.create({ id: "acme", plan: "free", keys: [] });
  await post("accounts/acme/keys");
  const key = (await console.store.accounts.find("acme"))?.keys[0]?.id ?? "";
  const { status, text } = await post(`accounts/acme/keys/${key}/rotate`, { overlap: "soon" });
  expect([status, text.includes("</strong> overlap: Use an overlap from 0 to 90 days.")]).toEqual([
    422,
    true,
  ]);
  const rotated = await post(`accounts/acme/keys/${key}/rotate`, { overlap: "3600000" });
  expect(rotated.text).toMatch(/id="issued-key">so_test_acme_\w+</);
  const [old] = (await console.store.accounts.find("acme"))?.keys ?? [];
  expect(Math.abs((old?.expiresAt ?? 0) - Date.now() - 3_600_000)).toBeLessThan(60_000);
});

test("the page of an account changes no key of another account", async () => {
  const [ours, others] = ["acme.k1", "globex.k1"].map((id, index) => ({
    id,
    hash: `${index}`.repeat(64),
    createdAt: 0,
  }));
  await console.store.accounts.create({ id: "acme", plan: "free", keys: ours ? [ours] : [] });
  await console.store.accounts.create({ id: "globex", plan: "free", keys: others ? [others] : [] });
  for (const change of ["revoke", "rotate", "unban"])
    expect((await post(`accounts/acme/keys/globex.k1/${change}`, { overlap: "0" })).status).toBe(404);
  expect((await console.store.accounts.find("globex"))?.keys).toEqual([others]);
  expect((await post("accounts/acme/keys/acme.k1/revoke")).status).toBe(200);
});

describe("plans of one's own", () => {
  const plans = { tiny: { perMinute: 5, perDay: 50 }, deal: "custom" } as const;
  const get = (path: string) => console.textOf(path);

  test("an account whose plan is not in the plans is shown as such, and its plan stays selected", async () => {
    await console.store.accounts.create({ id: "acme", plan: "tiny", keys: [] });
    for (const path of ["accounts", "accounts/acme"]) {
      const text = await get(path);
      expect(text, path).toContain('tiny <span class="badge warn">not in the plans</span>');
      expect(text, path).toContain("limit unknown");
      expect(text, path).not.toMatch(/of <\/span>|>of 0<|used up/);
    }
    const page = await get("accounts/acme");
    expect(page).toContain('<option value="tiny" selected>tiny (not in the plans)</option>');
    expect(page).toContain("The plans of this console have no limits for <code>tiny</code>.");
    // A form that is sent as it is shown changes nothing.
    const { status, text } = await post("accounts/acme/plan", { plan: "tiny", perMinute: "", perDay: "" });
    expect([status, text.includes("Choose one of free, pro, business, enterprise.")]).toEqual([422, true]);
    expect((await console.store.accounts.find("acme"))?.plan).toBe("tiny");
  });

  test("a console with other plans shows their limits, offers them, and accepts no other", async () => {
    console = await useSession({ plans });
    await post("accounts", { account: "acme", plan: "tiny" });
    const page = await get("accounts/acme");
    expect(page).toContain('<span class="quiet">of 5</span>');
    expect(page).toContain(
      '<option value="tiny" selected>tiny</option><option value="deal">deal</option></select>',
    );
    expect(page).toContain("deal only");
    expect((await post("accounts/acme/plan", { plan: "free" })).text).toContain("Choose one of tiny, deal.");
    await post("accounts/acme/plan", { plan: "deal", perMinute: "7", perDay: "70" });
    expect(await get("accounts/acme")).toContain('<span class="quiet">of 7</span>');
  });

  test("without a plan that has custom limits, no form asks for them", async () => {
    console = await useSession({ plans: { tiny: plans.tiny } });
    expect(await get("accounts")).not.toContain('name="perMinute"');
  });

  test("the limits of an enterprise account do not hinder its next plan; those that somebody enters do", async () => {
    const customLimits = { perMinute: 500, perDay: 5_000 };
    await console.store.accounts.create({ id: "acme", plan: "enterprise", customLimits, keys: [] });
    const entered = await post("accounts/acme/plan", { plan: "pro", perMinute: "501", perDay: "5000" });
    expect([entered.status, entered.text.includes("The pro plan has fixed limits.")]).toEqual([422, true]);
    const shown = await post("accounts/acme/plan", { plan: "pro", perMinute: "500", perDay: "5000" });
    expect([shown.status, shown.text.includes("The plan is now pro.")]).toEqual([200, true]);
    const account = await console.store.accounts.find("acme");
    expect([account?.plan, account?.customLimits]).toEqual(["pro", undefined]);
  });
});

test("an account is deleted with its keys only if its ID was typed", async () => {
  for (const id of ["acme", "globex"]) await console.store.accounts.create({ id, plan: "free", keys: [] });
  const wrong = await post("accounts/acme/delete", { account: "globex" });
  expect(wrong.status).toBe(422);
  expect(wrong.text).toContain('id="delete-account-error">Type acme. Nothing was deleted.');
  expect((await post("accounts/acme/delete", { account: " acme " })).text).toContain("has been deleted");
  expect(await console.store.accounts.find("acme")).toBeUndefined();
  expect(await console.store.accounts.find("globex")).toBeDefined();
});

test("the name and the last use of a key are shown as text, and a key that is pasted as a name is not stored", async () => {
  await console.store.accounts.create({ id: "acme", plan: "free", keys: [] });
  const named = await post("accounts/acme/keys", { name: "<b>scanner</b>" });
  expect(named.text).toContain("<strong>&lt;b&gt;scanner&lt;/b&gt;</strong>");
  expect(named.text).toContain('<span class="quiet">unknown</span>');
  const [, key = ""] = /id="issued-key">(so_test_acme_\w+)</.exec(named.text) ?? [];
  const pasted = await post("accounts/acme/keys", { name: key });
  expect([pasted.status, pasted.text.includes(key)]).toEqual([422, false]);
  const [stored, ...others] = (await console.store.accounts.find("acme"))?.keys ?? [];
  expect([stored?.name, others]).toEqual(["<b>scanner</b>", []]);
});

test("a pasted key leads to its account and is named, and is neither in the address nor in the page", async () => {
  await console.store.accounts.create({ id: "acme", plan: "free", keys: [] });
  const [, key = ""] =
    /id="issued-key">(so_test_acme_\w+)</.exec((await post("accounts/acme/keys")).text) ?? [];
  const [stored] = (await console.store.accounts.find("acme"))?.keys ?? [];
  const found = await post("find-account", { id: `Authorization: Bearer ${key}\n` });
  expect([found.status, found.text.includes(key), found.url.includes(key)]).toEqual([200, false, false]);
  expect(found.text).toContain(`The key is <a href="#key-${stored?.id}"><code>${stored?.id}</code></a>`);
  expect(found.text).toContain(`id="key-${stored?.id}"`);
  const unknown = await post("find-account", { id: generateKey("test", "acme") });
  expect([unknown.status, unknown.text.includes("There is no such key of acme.")]).toEqual([422, true]);
});

test("the chart says what was observed, and invents nothing", async () => {
  await console.store.accounts.create({ id: "acme", plan: "free", keys: [] });
  const page = await console.textOf("accounts/acme");
  expect(page).toContain("0 admitted and 0 rejected in the one minute");
  const [chart = ""] = /class="chart"[\s\S]*?<\/svg>/.exec(page) ?? [];
  expect(chart.match(/class="unseen"/g)).toHaveLength(59);
});
