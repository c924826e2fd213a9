import assert from "node:assert/strict";
import { type AccountSettings, type ApiKey, addKey, revokeKey } from "../../accounts/account.ts";
import { NO_USAGE } from "../../plans/windows.ts";
import { type ContractCase, collect } from "./contract-case.ts";

const AT = Date.UTC(2026, 10, 20, 12);
const account: AccountSettings = { id: "shop", terms: { plan: "free" }, keys: [] };
const apiKey = (name: string | number): ApiKey => ({
  id: `shop.${name}`,
  hash: `${name}`.padStart(64, "0"),
  createdAt: AT,
});

/** The promises of `AccountStore` to operators. */
export const accountCases: readonly ContractCase[] = [
  {
    name: "an account is found as it was created, without use and without penalties",
    async check({ accounts }) {
      const created: AccountSettings[] = [
        account,
        {
          id: "big-1",
          terms: { plan: "enterprise", customLimits: { perMinute: 60_000, perDay: 2 ** 40 } },
          keys: [{ ...apiKey("a"), expiresAt: AT + 1, revokedAt: AT + 2 }, apiKey("b")],
        },
      ];
      for (const settings of created) assert.equal(await accounts.create(settings), true);
      for (const settings of created) {
        assert.deepEqual(await accounts.find(settings.id), { ...settings, usage: NO_USAGE, rejections: {} });
      }
      assert.equal(await accounts.find("nobody"), undefined);
    },
  },
  {
    name: "an identifier that is taken is refused, and the account behind it is untouched",
    async check({ accounts }) {
      await accounts.create(account);
      assert.equal(await accounts.create({ ...account, terms: { plan: "pro" } }), false);
      assert.deepEqual((await accounts.find("shop"))?.terms, { plan: "free" });
    },
  },
  {
    name: "accounts are listed ascending by identifier, with their keys",
    async check({ accounts }) {
      const ids = ["0", "a", "a-b", "b", "shop"];
      for (const id of ids.toReversed())
        await accounts.create({ ...account, id, keys: [{ ...apiKey(id), id: `${id}.1` }] });
      const all = await collect(accounts.list());
      assert.deepEqual(
        all.map(({ id, keys }) => [id, keys[0]?.id]),
        ids.map((id) => [id, `${id}.1`]),
      );
    },
  },
  {
    name: "a change replaces the settings; a refusal and a missing account change nothing",
    async check({ accounts }) {
      await accounts.create(account);
      const custom = { perMinute: 5, perDay: 6 };
      const changed = await accounts.update("shop", (was) => ({
        ...was,
        terms: { plan: "enterprise", customLimits: custom },
      }));
      assert.deepEqual("refused" in changed ? changed : changed.terms, {
        plan: "enterprise",
        customLimits: custom,
      });
      assert.deepEqual(await accounts.update("shop", () => ({ refused: "too_many_keys" })), {
        refused: "too_many_keys",
      });
      assert.deepEqual((await accounts.find("shop"))?.terms, { plan: "enterprise", customLimits: custom });
      await accounts.update("shop", (was) => ({ ...was, terms: { plan: "pro" } }));
      assert.deepEqual((await accounts.find("shop"))?.terms, { plan: "pro" });
      assert.deepEqual(await accounts.update("nobody", (was) => was), { refused: "account_not_found" });
    },
  },
  {
    name: "a change that throws changes nothing and leaves the store usable",
    async check({ accounts }) {
      await accounts.create(account);
      await assert.rejects(
        accounts.update("shop", () => {
          throw new RangeError("not today");
        }),
        RangeError,
      );
      const changed = await accounts.update("shop", (was) => addKey(was, apiKey(1), AT));
      assert.equal("refused" in changed, false);
    },
  },
  {
    name: "of keys added at the same time none is lost, and there are never more than 20 living ones",
    async check({ accounts }) {
      await accounts.create(account);
      const results = await Promise.all(
        Array.from({ length: 25 }, (_, index) =>
          accounts.update("shop", (was) => addKey(was, apiKey(index), AT)),
        ),
      );
      assert.equal(results.filter((result) => "refused" in result).length, 5);
      assert.equal((await accounts.find("shop"))?.keys.length, 20);
    },
  },
  {
    name: "a change leaves counters, refusals and bans alone",
    async check({ accounts }) {
      const [first, second] = [apiKey(1), apiKey(2)];
      await accounts.create({ ...account, keys: [first, second] });
      const key = { accountId: "shop", hash: first.hash };
      for (let call = 0; call < 63; call++) await accounts.admit(key, AT);
      const before = await accounts.find("shop");
      assert.equal(before?.usage.minute.count, 60);
      assert.equal(before.rejections[first.id]?.count, 3);
      await accounts.update("shop", (was) => revokeKey(was, second.id, AT));
      const after = await accounts.find("shop");
      assert.deepEqual(after, { ...before, keys: [first, { ...second, revokedAt: AT }] });
    },
  },
];
