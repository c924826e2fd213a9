import { createAccounts } from "../accounts/accounts.ts";
import type { Clock, Instant } from "../core/time.ts";
import type { StoredOrder } from "../orders/lifecycle.ts";
import { DAY_MS } from "../plans/windows.ts";
import type { Store } from "../stores/store.ts";
import { type EnvironmentVariables, environmentOf } from "./settings.ts";
import { type StoreFlags, toCommandLine } from "./stores.ts";

export const DEMO_ACCOUNT = "demo";

/** Returns the key, or `undefined` if the store was not empty and nothing was changed. */
export async function seedDemo(store: Store, env: EnvironmentVariables, clock: Clock) {
  if (!(await isEmpty(store))) return undefined;
  const environment = await environmentOf(store, env);
  const accounts = createAccounts({ store: store.accounts, environment, clock });
  // If several processes start at once, the one that creates the account adds the rest.
  const created = await accounts.create(DEMO_ACCOUNT, { plan: "free" });
  if (!created.ok) return undefined;
  await store.orders.place(demoOrders(clock()), clock(), { by: "demo" });
  const issued = await accounts.issueKey(DEMO_ACCOUNT);
  return issued.ok ? issued.key : undefined;
}

async function isEmpty({ accounts, orders }: Store): Promise<boolean> {
  for await (const _account of accounts.list(undefined, 1)) return false;
  const page = await orders.page({ limit: 1 });
  return page.orders.length === 0 && page.damaged === undefined && page.next === undefined;
}

function demoOrders(now: Instant): readonly StoredOrder[] {
  const day = (offset: number) => new Date(now + offset * DAY_MS).toISOString();
  return [
    { record: { id: 1001n, petId: 7n, quantity: 1, shipDate: day(3), complete: false }, status: "pending" },
    { record: { id: 1002n, petId: 12n, quantity: 2, shipDate: day(5), complete: false }, status: "pending" },
    { record: { id: 1003n, petId: 7n, quantity: 1, shipDate: day(-1), complete: false }, status: "shipped" },
    { record: { id: 1004n, petId: 31n, quantity: 4, shipDate: day(-9), complete: true }, status: "shipped" },
    { record: { id: 1005n, petId: 12n, quantity: 1 }, status: "cancelled" },
  ];
}

export function formatNextSteps(url: string, key: string, flags: StoreFlags): string {
  return `
Paste this into another terminal:

export API=${url} KEY=${key}

Then try:

curl -i --compressed -H "Authorization: Bearer $KEY" "$API/store/orders"
curl -i -H "Authorization: Bearer $KEY" -X DELETE "$API/store/orders/1001"
${toCommandLine(["accounts", "show", DEMO_ACCOUNT], flags)}
`;
}

export function explainNotSeeded(flags: StoreFlags): string {
  const issue = toCommandLine(["keys", "issue", "--account", DEMO_ACCOUNT], flags);
  const hint = `To issue one (create the account first if it is gone), run: ${issue}`;
  return `The database has data already, so no demo data was added. A key is shown only when it is issued. ${hint}`;
}
