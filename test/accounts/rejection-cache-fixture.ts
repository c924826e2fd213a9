import type { AccountSettings, ApiKey } from "../../lib/accounts/account.ts";
import type { AccountStore } from "../../lib/accounts/account-store.ts";
import type { Admission } from "../../lib/accounts/admission.ts";
import { withRejectionCache } from "../../lib/accounts/rejection-cache.ts";
import { StoreUnavailableError } from "../../lib/errors.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";

export const AT = Date.UTC(2026, 10, 20, 12);
export const KEY: ApiKey = { id: "acme.first", hash: "1".repeat(64), createdAt: AT };

export const SETTINGS: AccountSettings = {
  id: "acme",
  plan: "enterprise",
  customLimits: { perMinute: 1, perDay: 100 },
  keys: [KEY],
};

/** The key as a caller presents it. */
export const PRESENTED = { accountId: "acme", hash: KEY.hash };

/** A cache over a store that counts its calls. */
export async function createCacheFixture() {
  const { accounts } = createMemoryStore();
  await accounts.create(SETTINGS);
  let calls = 0;
  let isDown = false;
  const call = <T>(run: () => Promise<T>) => {
    calls++;
    if (isDown) throw new StoreUnavailableError("The store is down.");
    return run();
  };
  const counted: AccountStore = {
    ...accounts,
    admit: async (...args) => call(() => accounts.admit(...args)),
    recordRejections: async (...args) => call(() => accounts.recordRejections(...args)),
  };
  const cached = withRejectionCache(counted);
  return {
    accounts,
    cached,
    admit: async (at: number) => outcomeOf(await cached.admit(PRESENTED, at)),
    calls: () => calls,
    setDown: (down: boolean) => {
      isDown = down;
    },
    rejections: async () => (await accounts.find("acme"))?.rejections[KEY.id]?.count,
    setPlan: (store: AccountStore, plan: Omit<AccountSettings, "id" | "keys">) =>
      store.update("acme", ({ id, keys }) => ({ ok: true, account: { id, keys, ...plan } })),
  };
}

export const outcomeOf = (admission: Admission) => (admission.ok ? "admitted" : admission.code);
