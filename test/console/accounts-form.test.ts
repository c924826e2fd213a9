import { beforeEach, expect, test } from "vitest";
import { type ConsoleFixture, formToken, postHeaders, signIn, useConsole } from "../support/console.ts";

let console: ConsoleFixture;
let cookie: string;
let token: string;

beforeEach(async () => {
  console = await useConsole();
  cookie = await signIn(console);
  token = await formToken(console, cookie);
});

const post = async (path: string, fields: Record<string, string>) => {
  const response = await fetch(console.at(path), {
    method: "POST",
    headers: { ...postHeaders(console), cookie },
    body: new URLSearchParams({ token, ...fields }),
  });
  return { status: response.status, text: await response.text() };
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

test("an overlap that no form offers is rejected by the name of its field", async () => {
  await console.store.accounts.create({ id: "acme", plan: "free", keys: [] });
  await post("accounts/acme/keys", {});
  const key = (await console.store.accounts.find("acme"))?.keys[0]?.id ?? "";
  const { status, text } = await post(`accounts/acme/keys/${key}/rotate`, { overlap: "soon" });
  expect([status, text.includes("</strong> overlap: Use an overlap from 0 to 90 days.")]).toEqual([
    422,
    true,
  ]);
});
