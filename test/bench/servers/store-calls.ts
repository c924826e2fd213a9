import { MAX_ACTIVE_KEYS } from "../../../lib/accounts/account.ts";
import { createAccounts } from "../../../lib/accounts/accounts.ts";
import { createHandler } from "../../../lib/http/handler.ts";
import { DAY_MS, MINUTE_MS } from "../../../lib/plans/windows.ts";
import { createDynamodbStore } from "../../../lib/stores/dynamodb/index.ts";
import { clientFor } from "../../support/dynamodb/emulator.ts";
import { startProxy } from "../../support/dynamodb/proxy.ts";
import { createAccountWithKey, FIRST_ID } from "../fixture.ts";

/** DynamoDB calls per request, counted by a proxy. */
export interface StoreCalls {
  readonly steady: number;
  /** The first request of a window. */
  readonly newWindow: number;
  readonly rejected: number;
  /** A cancel in total, including its admission. */
  readonly cancel: number;
  /** Write units of an admission, for an account with 20 keys that expire. */
  readonly units: number;
}

/** Counts the calls of requests through the handler. The tables must exist and have orders. */
export async function countStoreCalls(endpoint: string, prefix: string): Promise<StoreCalls> {
  const proxy = await startProxy(endpoint);
  const client = clientFor(proxy.endpoint);
  const store = createDynamodbStore({ prefix, client });
  let now = Date.UTC(2026, 10, 20, 12);
  const handler = createHandler({ store, clock: () => now });
  const plan = { plan: "enterprise", customLimits: { perMinute: 5, perDay: 1_000 } } as const;
  const authorization = `Bearer ${await createAccountWithKey(store, "counted", plan)}`;
  const accounts = createAccounts({ store: store.accounts, environment: "test", clock: () => now });
  for (let key = 1; key < MAX_ACTIVE_KEYS; key++) {
    await accounts.issueKey("counted", { expiresAt: now + 400 * DAY_MS + key });
  }
  const send = async (path: string, method = "GET") => {
    proxy.takeOperations();
    await handler(new Request(`http://localhost/v1${path}`, { method, headers: { authorization } }));
    return proxy.takeOperations().length;
  };

  await store.orders.find(0n);
  await send("/pets/1");
  proxy.takeUnits();
  const steady = await send("/pets/1");
  const units = proxy.takeUnits().reduce((sum, each) => sum + each, 0);
  now += MINUTE_MS;
  const newWindow = await send("/pets/1");
  const cancel = await send(`/store/orders/${FIRST_ID + 1}`, "DELETE");
  for (let more = 0; more < 3; more++) await send("/pets/1");
  const rejected = await send("/pets/1");
  client.destroy();
  await proxy.close();
  return { steady, newWindow, rejected, cancel, units };
}

/** Counts the calls of `work` to an endpoint. */
export async function countCalls(
  endpoint: string,
  work: (endpoint: string) => Promise<unknown>,
): Promise<number> {
  const proxy = await startProxy(endpoint);
  try {
    proxy.takeOperations();
    await work(proxy.endpoint);
    return proxy.takeOperations().length;
  } finally {
    await proxy.close();
  }
}
