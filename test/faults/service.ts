/** A store with orders and one key, and the service over it in its own process. */
import { fork } from "node:child_process";
import { once } from "node:events";
import type { AccountStore } from "../../lib/accounts/account-store.ts";
import { createAccounts, type IssuedKey } from "../../lib/accounts/accounts.ts";
import { openStore, type StoreAddress } from "../support/store-address.ts";
import { PER_MINUTE, recordAt } from "./mixed-requests.ts";

/** The time of the service, which stands still. */
export const NOW: number = Date.UTC(2026, 10, 20, 12);

/** Creates an account with limits that are hardly ever reached, and returns its key. */
export async function createKey(store: AccountStore): Promise<string> {
  const accounts = createAccounts({ store, environment: "test", clock: () => NOW });
  const customLimits = { perMinute: PER_MINUTE, perDay: 100 * PER_MINUTE };
  await accounts.create("shop", { plan: "enterprise", customLimits });
  return ((await accounts.issueKey("shop")) as IssuedKey).key;
}

/** Places pending orders and creates one key, and returns the key. */
export async function fillStore(address: StoreAddress, orders: number): Promise<string> {
  const store = await openStore(address);
  const key = await createKey(store.accounts);
  const all = Array.from({ length: orders }, (_, index) => ({
    record: recordAt(index),
    status: "pending" as const,
  }));
  for (let from = 0; from < orders; from += 1_000) await store.orders.place(all.slice(from, from + 1_000));
  await store.close();
  return key;
}

/** Starts the service in its own process, and waits until it listens. */
export async function startService(address: StoreAddress) {
  const child = fork(new URL("service-process.ts", import.meta.url), [JSON.stringify(address), `${NOW}`]);
  const [url] = (await Promise.race([once(child, "message"), once(child, "exit")])) as [string];
  if (child.exitCode !== null) throw new Error(`The service ended with ${child.exitCode}.`);
  return {
    url,
    process: child,
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      await ended;
    },
  };
}
