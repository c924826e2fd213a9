import { beforeEach, describe, expect, test } from "vitest";
import { BAN_GRACE_MS } from "../../../lib/accounts/admission.ts";
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
  [
    "accounts",
    "create-accountId",
    { accountId: "Acme!", plan: "free" },
    "accountId",
    "Use 1 to 32 lower-case",
  ],
  [
    "accounts",
    "create-perDay",
    { accountId: "a", plan: "enterprise", perMinute: "5", perDay: "" },
    "perDay",
    "Give a whole",
  ],
  ["accounts", "create-accountId", { accountId: "acme", plan: "free" }, "accountId", "An account with this"],
  [
    "accounts/acme/keys",
    "issue-expiresAt",
    { expiresAt: "2001-01-01" },
    "expiresAt",
    "Give a time in the future.",
  ],
  ["accounts/acme/keys", "issue-expiresAt", { expiresAt: "2030-02-31" }, "expiresAt", "Give a date, such as"],
  ["accounts/acme/keys", "issue-expiresAt", { expiresAt: "soon" }, "expiresAt", "Give a date, such as"],
])(
  "a form sent to %s shows the error at %s, and keeps what was entered",
  async (path, id, fields, name, error) => {
    await console.store.accounts.create({ id: "acme", plan: "free", keys: [] });
    const { status, text } = await post(path, fields);
    expect(status).toBe(422);
    expect(text).toContain(`id="${id}-error">${error}`);
    expect(text).toContain("</strong> Correct what is marked in the form.");
    expect(text.split(error)).toHaveLength(2);
    if (fields[name] !== undefined) expect(text).toContain(`value="${fields[name]}"`);
    expect((await console.store.accounts.find("acme"))?.keys).toEqual([]);
  },
);

test("a key is rotated with an overlap, and one that no form offers is rejected at its field", async () => {
  await console.store.accounts.create({ id: "acme", plan: "free", keys: [] });
  await post("accounts/acme/keys");
  const key = (await console.store.accounts.find("acme"))?.keys[0]?.id ?? "";
  const { status, text } = await post(`accounts/acme/keys/${key}/rotate`, { overlapMs: "soon" });
  expect([
    status,
    text.includes(`id="rotate-${key}-overlapMs-error">Use an overlap from 0 to 90 days.`),
  ]).toEqual([422, true]);
  const rotated = await post(`accounts/acme/keys/${key}/rotate`, { overlapMs: "3600000" });
  expect(rotated.text).toMatch(/id="issued-key">so_test_acme_\w+</);
  const [old, successor] = (await console.store.accounts.find("acme"))?.keys ?? [];
  const until = `${new Date(old?.expiresAt ?? 0).toISOString().slice(0, 19).replace("T", " ")} UTC`;
  const rotation = `rotated, valid until ${until} → ${successor?.id}`;
  const plain = rotated.text.replace(/<[^>]+>/g, "");
  expect(plain.split(rotation), "in the notice and in the row").toHaveLength(3);
  expect(plain).toContain(`${key} is ${rotation}.`);
  expect(plain).toContain(`A new key takes the place of ${successor?.id}.`);
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
    expect((await post(`accounts/acme/keys/globex.k1/${change}`, { overlapMs: "0" })).status).toBe(404);
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
    expect(page).toContain("is not one of the plans here");
    // A form that is sent as it is shown changes nothing.
    const { status, text } = await post("accounts/acme/plan", { plan: "tiny", perMinute: "", perDay: "" });
    expect([status, text.includes("Choose one of free, pro, business, enterprise.")]).toEqual([422, true]);
    expect((await console.store.accounts.find("acme"))?.plan).toBe("tiny");
  });

  test("a console with other plans shows their limits, offers them, and accepts no other", async () => {
    console = await useSession({ plans });
    await post("accounts", { accountId: "acme", plan: "tiny" });
    const page = await get("accounts/acme");
    expect(page).toContain('<span class="quiet">of 5</span>');
    expect(page).toContain(
      '<option value="tiny" selected>tiny: 5 a minute, 50 a day</option><option value="deal" data-more>deal: limits of its own</option></select>',
    );
    expect((await post("accounts/acme/plan", { plan: "free" })).text).toContain("Choose one of tiny, deal.");
    await post("accounts/acme/plan", { plan: "deal", perMinute: "7", perDay: " 12,000 " });
    expect(await get("accounts/acme")).toContain('<span class="quiet">of 7</span>');
    expect(await get("accounts/acme")).toContain('<span class="quiet">of 12,000</span>');
    for (const perDay of ["12,00", "1,2000", "12.000", ","])
      expect((await post("accounts/acme/plan", { plan: "deal", perMinute: "7", perDay })).status).toBe(422);
  });

  test("an option is marked if its plan has custom limits, which belong to no other plan", async () => {
    const text = await get("accounts");
    expect([...text.matchAll(/<option value="(\w+)"[^>]*? data-more>/g)].map(([, plan]) => plan)).toEqual([
      "enterprise",
    ]);
    const customLimits = { perMinute: 500, perDay: 5_000 };
    await console.store.accounts.create({ id: "acme", plan: "enterprise", customLimits, keys: [] });
    const changed = await post("accounts/acme/plan", { plan: "pro", perMinute: "501", perDay: "" });
    expect([changed.status, changed.text.includes("The plan is now pro.")]).toEqual([200, true]);
    const account = await console.store.accounts.find("acme");
    expect([account?.plan, account?.customLimits]).toEqual(["pro", undefined]);
    const missing = await post("accounts/acme/plan", { plan: "enterprise", perMinute: "5", perDay: "" });
    expect([missing.status, missing.text.includes('id="plan-perDay-error"')]).toEqual([422, true]);
  });
});

test("an account is deleted with its keys only if its ID was typed", async () => {
  for (const id of ["acme", "globex"]) await console.store.accounts.create({ id, plan: "free", keys: [] });
  const wrong = await post("accounts/acme/delete", { accountId: "globex" });
  expect(wrong.status).toBe(422);
  expect(wrong.text).toContain('id="delete-accountId-error">Type acme. Nothing was deleted.');
  expect((await post("accounts/acme/delete", { accountId: " acme " })).text).toContain("has been deleted");
  expect(await console.store.accounts.find("acme")).toBeUndefined();
  expect(await console.store.accounts.find("globex")).toBeDefined();
});

test("the name and the last use of a key are shown as text, and a key that is pasted as a name is not stored", async () => {
  await console.store.accounts.create({ id: "acme", plan: "free", keys: [] });
  const named = await post("accounts/acme/keys", { name: "<b>scanner</b>" });
  expect(named.text).toContain("&lt;b&gt;scanner&lt;/b&gt;</span>");
  expect(named.text).toContain('<span class="quiet">never used</span>');
  const [, key = ""] = /id="issued-key">(so_test_acme_\w+)</.exec(named.text) ?? [];
  const pasted = await post("accounts/acme/keys", { name: key });
  expect([pasted.status, pasted.text.includes(key)]).toEqual([422, false]);
  const [stored, ...others] = (await console.store.accounts.find("acme"))?.keys ?? [];
  expect([stored?.name, others]).toEqual(["<b>scanner</b>", []]);
});

test("the last rejected requests of a key are shown, with the limit that was used up today", async () => {
  const NOON = Date.UTC(2026, 10, 20, 12);
  let now = NOON;
  console = await useSession({ clock: () => now });
  const key = { id: "acme.k123456789", hash: "1".repeat(64), createdAt: 0 };
  await console.store.accounts.create({ id: "acme", plan: "free", keys: [key] });
  const list = async () =>
    /id="rejections"[\s\S]*?<\/section>/
      .exec(await console.textOf("accounts/acme"))?.[0]
      .replace(/<[^>]+>/g, "")
      .replace(/\s+/g, " ");
  expect(await list()).toContain("None are recorded");
  const admit = async (count: number, at: number) => {
    for (let request = 0; request < count; request++)
      await console.store.accounts.admit({ accountId: "acme", hash: key.hash }, at);
  };
  await admit(61, NOON);
  expect(await list()).toContain("just now: some requests of acme.k123456789 were beyond a limit");
  await admit(1, NOON + BAN_GRACE_MS);
  expect(await list()).toContain("just now: 1 request of acme.k123456789 was beyond a limit");
  expect(await list()).toContain("filter by the keyId and the status 429");
  await admit(2, NOON);
  now = NOON + 3_600_000;
  expect(await list()).toContain(
    "1 hour ago: 3 requests of acme.k123456789 were beyond a limit in the minute from 2026-11-20 12:00:00 UTC. Today&#39;s limit is not used up, so it was the limit per minute, unless the plan has changed or the counts were reset since.",
  );
  for (let minute = 1; minute < 16; minute++) await admit(60, NOON + minute * 60_000);
  await admit(60, NOON + 16 * 60_000);
  await admit(1, NOON + 16 * 60_000);
  await admit(21, NOON + 16 * 60_000 + BAN_GRACE_MS);
  expect(await list()).toContain(
    "21 requests of acme.k123456789 were beyond a limit in the minute from 2026-11-20 12:16:00 UTC.",
  );
  expect(await list()).toContain(
    "Today&#39;s limit is used up. Then the key was banned until 2026-11-20 12:31:10 UTC; requests during the ban are not counted.",
  );
  now = NOON + 30 * 60_000;
  expect(await list(), "while it is banned").toContain(
    "Then the key was banned until 2026-11-20 12:31:10 UTC;",
  );
  now = NOON + 86_400_000;
  expect(await list(), "on the next day").not.toContain("Today&#39;s");
});

test.each([
  [undefined, "live", "live"],
  [undefined, "test", "test"],
  [undefined, undefined, undefined],
  ["live", "live", "live"],
  ["live", undefined, "live"],
  ["test", "live", undefined],
  ["live", "test", undefined],
] as const)(
  "with the environment %s and a store of keys for %s, keys are issued and rotated for %s",
  async (environment, recorded, expected) => {
    console = await useSession({ environment });
    const { accounts } = console.store;
    if (recorded !== undefined) await accounts.recordEnvironment(recorded);
    const key = { id: "acme.k123456789", hash: "1".repeat(64), createdAt: 0 };
    await accounts.create({ id: "acme", plan: "free", keys: [key] });
    for (const path of ["keys", `keys/${key.id}/rotate`]) {
      const { status, text } = await post(`accounts/acme/${path}`, { overlapMs: "0" });
      const [, issued] = /id="issued-key">so_(\w+?)_/.exec(text) ?? [];
      expect([status, issued], path).toEqual([expected === undefined ? 422 : 200, expected]);
      const problem = recorded
        ? `The keys of this store are for &#39;${recorded}&#39;, since its first one was`
        : "Choose test or live: all keys of this store will be for it.";
      expect(text.includes(problem)).toBe(issued === undefined);
      const isShown = text.includes(`id="keys-for">${recorded ?? expected} keys<`);
      expect(isShown, "the head").toBe((recorded ?? expected) !== undefined);
    }
    expect(await accounts.findEnvironment()).toBe(recorded ?? expected);
  },
);

test("for the first key of a store, the form asks for its environment", async () => {
  console = await useSession({ environment: undefined });
  await console.store.accounts.create({ id: "acme", plan: "free", keys: [] });
  expect(await console.textOf("accounts/acme")).toContain('<select id="issue-environment"');
  const { text } = await post("accounts/acme/keys", { environment: "live" });
  expect(text).toMatch(/id="issued-key">so_live_acme_/);
  expect(text).toContain('id="keys-for">live keys<');
  expect(text).not.toContain("issue-environment");
  expect(text).toContain("The key is for <strong>live</strong>.");
});

test.each<[string, number, number, string]>([
  ["no limit", 60, 0, "has been lifted.</p>"],
  [
    "the minute",
    0,
    81,
    "has been lifted. The limit per minute is used up, so requests are rejected until it resets in 30 s.",
  ],
  [
    "the day",
    1_000,
    81,
    "has been lifted. The limit per day is used up, so requests are rejected until it resets in 11 h 59 min.",
  ],
])("after a ban was lifted, the page says that %s is used up", async (_limit, before, now, message) => {
  const NOON = Date.UTC(2026, 10, 20, 12);
  console = await useSession({ clock: () => NOON + 30_000 });
  const key = { id: "acme.k123456789", hash: "1".repeat(64), createdAt: 0 };
  await console.store.accounts.create({ id: "acme", plan: "free", keys: [key] });
  const admit = (at: number) => console.store.accounts.admit({ accountId: "acme", hash: key.hash }, at);
  for (let request = 0; request < before; request++)
    await admit(NOON - Math.ceil((before - request) / 60) * 60_000);
  for (let request = 0; request < now; request++) await admit(NOON);
  if (now > 0) await console.store.accounts.recordRejections({ accountId: "acme", hash: key.hash }, 21, NOON);
  const { text } = await post(`accounts/acme/keys/${key.id}/unban`);
  expect(text.replace(/<\/?code>/g, "")).toContain(`The ban of acme.k123456789 ${message}`);
  // The table of rejected requests has it no more.
  expect(/21 requests of/.test(text)).toBe(now > 0);
});
