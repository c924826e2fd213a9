import { expect } from "vitest";
import type { ApiKey } from "../../lib/accounts/account.ts";
import { DEFAULT_BAN_POLICY } from "../../lib/accounts/admission.ts";
import { collect } from "../../lib/stores/contract/contract-case.ts";
import type { Store } from "../../lib/stores/store.ts";

const AT = Date.UTC(2026, 10, 20, 12);
const KEY: ApiKey = { id: "acme.1", hash: "1".repeat(64), createdAt: AT };
const PRESENTED = { accountId: "acme", hash: KEY.hash };
const LEASE = -60_000;
const CANCEL = { type: "apply", id: 1n, event: "cancel" } as const;

/** Whether a write waits for the disk. */
type Waiting = "durable" | "relaxed" | "writes nothing";
type Calls = Readonly<Record<string, readonly [call: () => Promise<unknown>, expected: Waiting]>>;

/**
 * Makes every call of a store, in an order in which each has something to do. The writes of each wait for the disk or
 * not, as documented. `takeWrites` returns what those since its last call did; `more` are calls of this engine.
 */
export async function expectDocumentedWrites(
  { orders, accounts, outbox = expect.fail() }: Pick<Store, "orders" | "accounts" | "outbox">,
  takeWrites: () => readonly ("durable" | "relaxed")[],
  more: Calls,
): Promise<void> {
  const place = (id: bigint) => orders.place([{ record: { id }, status: "pending" }]);
  const calls: Calls = {
    "accounts.create": [() => accounts.create({ id: "acme", plan: "free", keys: [KEY] }), "durable"],
    "orders.place": [() => place(1n), "durable"],
    "orders.apply": [() => orders.apply(1n, "ship", AT), "durable"],
    "orders.find": [() => orders.find(1n), "writes nothing"],
    "orders.list": [() => collect(orders.list()), "writes nothing"],
    "orders.page": [() => orders.page({ limit: 1 }), "writes nothing"],
    "orders.countByStatus": [() => orders.countByStatus(), "writes nothing"],
    "accounts.findEnvironment": [() => accounts.findEnvironment(), "writes nothing"],
    "accounts.recordEnvironment": [() => accounts.recordEnvironment("test"), "durable"],
    "accounts.find": [() => accounts.find("acme"), "writes nothing"],
    "accounts.list": [() => collect(accounts.list()), "writes nothing"],
    "accounts.update": [() => accounts.update("acme", (account) => ({ ok: true, account })), "durable"],
    "accounts.delete": [() => accounts.delete("other"), "durable"],
    "accounts.resetUsage": [() => accounts.resetUsage("acme"), "durable"],
    "accounts.unban": [() => accounts.unban("acme", KEY.id), "durable"],
    "accounts.admit": [() => accounts.admit(PRESENTED, AT), "relaxed"],
    "accounts.admit with a list": [
      () => accounts.admit(PRESENTED, AT, DEFAULT_BAN_POLICY, { type: "list" }),
      "relaxed",
    ],
    "accounts.admit with an event": [
      () => accounts.admit(PRESENTED, AT, DEFAULT_BAN_POLICY, CANCEL),
      "durable",
    ],
    "accounts.recordRejections": [() => accounts.recordRejections(PRESENTED, 1, AT), "relaxed"],
    "outbox.switch": [() => outbox.switch(true), "durable"],
    "outbox.isOn": [() => outbox.isOn(), "writes nothing"],
    "an order with the outbox on": [() => place(3n), "durable"],
    "outbox.lease": [() => outbox.lease(1, AT, LEASE), "relaxed"],
    "outbox.lease of nothing": [() => outbox.lease(1, AT, LEASE), "writes nothing"],
    "outbox.held": [() => outbox.held(AT, 10), "writes nothing"],
    "outbox.release": [() => outbox.release([{ id: 3n, hold: AT }]), "relaxed"],
    "outbox.postpone": [() => outbox.postpone(3n, LEASE, undefined), "relaxed"],
    "outbox.list": [() => outbox.list("failed", 1), "writes nothing"],
    "outbox.retry": [() => outbox.retry(undefined), "durable"],
    "outbox.acknowledge": [() => outbox.acknowledge([{ id: 3n, delivered: 1, lease: -1 }]), "relaxed"],
    "outbox.backlog": [() => outbox.backlog(), "writes nothing"],
    ...more,
  };
  for (const [name, [call, expected]] of Object.entries(calls)) {
    takeWrites();
    await call();
    expect([...new Set(takeWrites())], name).toEqual(expected === "writes nothing" ? [] : [expected]);
  }
  const methods = Object.entries({ orders, accounts, outbox }).flatMap(([port, methodsOfPort]) =>
    Object.entries(methodsOfPort).flatMap(([name, method]) =>
      typeof method === "function" ? [`${port}.${name}`] : [],
    ),
  );
  expect(methods.filter((name) => !(name in calls))).toEqual([]);
}
