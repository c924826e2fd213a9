import { expect, test } from "vitest";
import { createAccounts, type IssuedKey } from "../../lib/accounts/accounts.ts";
import { createHandler } from "../../lib/http/handler.ts";
import { MINUTE_MS } from "../../lib/plans/windows.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";

const NOON = Date.UTC(2026, 10, 20, 12);
const PLANS = {
  free: { perMinute: 3, perDay: 9 },
  starter: { perMinute: 2, perDay: 3 },
  partner: "custom",
} as const;

/** A service with other plans, and its sender for the key of an account. */
async function createService() {
  const store = createMemoryStore();
  const time = { now: NOON };
  const clock = () => time.now;
  const handler = createHandler({ store, clock, plans: PLANS });
  const accounts = createAccounts({ store: store.accounts, environment: "test", clock, plans: PLANS });
  const send = async (key: string | undefined, path = "/v1/store/orders") => {
    const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
    const response = await handler(new Request(`http://localhost${path}`, { headers }));
    const limits = ["limit", "remaining", "reset"].map((name) =>
      Number(response.headers.get(`x-ratelimit-${name}`)),
    );
    return { status: response.status, limits, text: await response.text(), headers: response.headers };
  };
  const issue = async (account: string) => ((await accounts.issueKey(account)) as IssuedKey).key;
  return { store, time, accounts, send, issue };
}

test("other plans have the same windows, headers and rejections", async () => {
  const { accounts, issue, send, time } = await createService();
  await accounts.create("acme", { plan: "starter" });
  const key = await issue("acme");
  const reset = NOON / 1000 + 60;
  expect(await send(key)).toMatchObject({ status: 200, limits: [2, 1, reset] });
  expect(await send(key)).toMatchObject({ status: 200, limits: [2, 0, reset] });
  const rejected = await send(key);
  expect(rejected).toMatchObject({ status: 429, limits: [2, 0, reset] });
  expect(rejected.headers.get("retry-after")).toBe("60");
  time.now += MINUTE_MS;
  expect(await send(key)).toMatchObject({ status: 200, limits: [3, 0, Date.UTC(2026, 10, 21) / 1000] });
  await accounts.create("partner", { plan: "partner", customLimits: { perMinute: 7, perDay: 70 } });
  expect(await send(await issue("partner"))).toMatchObject({ status: 200, limits: [7, 6, reset + 60] });
});

test("callers without a key have the limits of the plan free of the table", async () => {
  const { send } = await createService();
  expect(await send(undefined)).toMatchObject({ status: 401, limits: [3, 2, NOON / 1000 + 60] });
});

test("the OpenAPI document lists the plans of the table", async () => {
  const { text } = await (await createService()).send(undefined, "/openapi.json");
  const { description } = JSON.parse(text).info;
  expect(description).toContain("| starter | 2 | 3 |\n| partner | custom | custom |");
  expect(description).not.toContain("business");
});

test("an unknown plan is rejected when an account is created, and by the compiler", async () => {
  const { accounts } = await createService();
  // @ts-expect-error: the plan is not in the table.
  await expect(accounts.create("acme", { plan: "pro" })).rejects.toThrow(
    "Choose one of free, starter, partner.",
  );
  await expect(accounts.create("acme", { plan: "partner" })).rejects.toThrow("needs its limits per minute");
});

test("plans that are invalid are rejected at startup", () => {
  const create = () => createHandler({ store: createMemoryStore(), plans: {} });
  const issues = [{ path: "plans", message: "Give 1 to 20 plans." }];
  expect(create).toThrow(expect.objectContaining({ issues }));
});
