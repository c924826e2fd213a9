import type { HandlerOptions } from "../http/options.ts";
import type { OrderPage } from "../orders/order-store.ts";
import { countRecords } from "../orders/wire.ts";

interface StoreObserver {
  onBan(plan: string): void;
  /** Called when a list begins. What it returns is called with the records of each page, before anybody gets it. */
  onList(): (records: number, isLast: boolean) => void;
}

/** Returns the same store, which also tells of each ban that it starts, and of each page of a list. */
export function observeStore<S extends HandlerOptions["store"]>(store: S, { onBan, onList }: StoreObserver) {
  const { orders, accounts } = store;
  async function* observed(pages: AsyncIterable<OrderPage>, onPage = onList()) {
    for await (const page of pages) {
      onPage(countRecords(page.json), page.last);
      yield page;
    }
  }
  const wrapped = { ...withMethods(orders), list: () => observed(orders.list()) };
  const admit: typeof accounts.admit = async (...args) => {
    const admission = await accounts.admit(...args);
    if (!admission.ok && admission.code === "api_key_banned" && admission.startsBan)
      onBan(admission.caller.plan);
    if (!admission.ok || admission.outcome?.type !== "list") return admission;
    const { first, rest } = admission.outcome;
    const onPage = onList();
    onPage(countRecords(first.json), first.last);
    return { ...admission, outcome: { ...admission.outcome, rest: observed(rest, onPage) } };
  };
  // `admit` reports its own lists. Orders that another wrapper has wrapped stay wrapped.
  const performsOn = accounts.performsOn === orders && { performsOn: wrapped };
  const wrappedAccounts = { ...withMethods(accounts), ...performsOn, admit };
  return { ...withMethods(store), orders: wrapped, accounts: wrappedAccounts };
}

/** A copy of an object that has the methods of its class, too, which a spread leaves out. */
function withMethods<T extends object>(object: T): T {
  const copy: Record<string, unknown> = {};
  for (let level = object; level && level !== Object.prototype; level = Object.getPrototypeOf(level))
    for (const name of Object.getOwnPropertyNames(level)) {
      const value: unknown = Reflect.get(object, name);
      copy[name] ??= typeof value === "function" ? value.bind(object) : value;
    }
  return copy as T;
}
