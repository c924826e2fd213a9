import { PutItemCommand } from "@aws-sdk/client-dynamodb";
import { expect, test } from "vitest";
import { orderToJson } from "../../../lib/orders/wire.ts";
import { PLAN_LIMITS } from "../../../lib/plans/plan-limits.ts";
import { checkDatabase } from "../../../lib/stores/check.ts";
import { collect } from "../../../lib/stores/contract/contract-case.ts";
import { createDynamodbStore, createDynamodbTables } from "../../../lib/stores/dynamodb/index.ts";
import { inspectDynamodb } from "../../../lib/stores/dynamodb/inspect.ts";
import { ORDERS_SETTINGS_KEY } from "../../../lib/stores/dynamodb/schema.ts";
import { useProxiedEmulator } from "../../support/dynamodb/use-proxied-emulator.ts";

const AT = Date.UTC(2026, 10, 20, 12);
/** Far more than all calls of the test need. */
const MAX_REQUESTS = 500;

const dynamodb = useProxiedEmulator();

test("what is on several pages is read to its end, although these are short or empty", async () => {
  const tables = { prefix: "short", client: dynamodb.client };
  await createDynamodbTables(tables);
  const settings = { ...ORDERS_SETTINGS_KEY, outbox: { BOOL: true } };
  await dynamodb.client.send(new PutItemCommand({ TableName: "short-orders", Item: settings }));
  const { orders, accounts, outbox = expect.fail() } = createDynamodbStore(tables);
  await accounts.recordEnvironment("live");
  const ids = Array.from({ length: 104 }, (_, index) => BigInt(index));
  const place = (placed: readonly bigint[], at: number) =>
    orders.place(
      placed.map((id) => ({ record: { id }, status: "pending" })),
      at,
    );
  await place(ids.slice(0, 40), AT);
  await place(ids.slice(40), AT + 1);
  const names = Array.from({ length: 25 }, (_, index) => `account-${index + 10}`);
  for (const id of names) await accounts.create({ id, plan: "free", keys: [] });

  let requests = 0;
  dynamodb.proxy.chooseFault = ({ operation }) => {
    if (requests++ > MAX_REQUESTS) return "deny";
    return /Query|Scan/.test(operation) ? "shorten" : "pass";
  };
  const idsOf = (found: readonly { readonly id: bigint }[]) =>
    found.map(({ id }) => id).sort((a, b) => Number(a - b));
  const pages = await collect(orders.list());
  expect(pages.map(({ json }) => json).join()).toBe(ids.map((id) => orderToJson({ id })).join());
  expect(await orders.countByStatus()).toMatchObject({ pending: 104, shipped: 0, cancelled: 0 });
  expect((await collect(accounts.list())).map(({ id }) => id)).toEqual(names);
  expect(await outbox.backlog()).toEqual({ waiting: 104, failed: 0, oldest: AT });
  expect(idsOf(await outbox.list("waiting", 200))).toEqual(ids);
  dynamodb.proxy.takeOperations();
  expect(idsOf(await outbox.lease(40, AT, -5))).toEqual(ids.slice(0, 40));
  // It looks only whether anything waits.
  expect(dynamodb.proxy.takeOperations().filter((operation) => operation === "Scan")).toHaveLength(1);
  const options = { at: AT, plans: PLAN_LIMITS, report: () => {}, update: () => {} };
  expect(await checkDatabase(inspectDynamodb({ prefix: "short" }, dynamodb.client), options)).toEqual({
    ...{ orders: 104, accounts: 25, findings: 0, newest: AT + 1 },
  });
  expect(dynamodb.proxy.faults.shorten).toBeGreaterThan(40);
});
