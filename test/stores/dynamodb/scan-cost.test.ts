import { expect, test } from "vitest";
import { createDynamodbStore, createDynamodbTables } from "../../../lib/stores/dynamodb/index.ts";
import { DEFAULT_BUCKETS } from "../../../lib/stores/dynamodb/layout.ts";
import { useEmulator } from "../../support/dynamodb/use-emulator.ts";

const emulator = useEmulator();

test("a scan for 51 orders reads seven of each bucket, and seven ahead", async () => {
  const prefix = "scan-cost";
  const { client } = emulator;
  await createDynamodbTables({ prefix, client });
  const store = createDynamodbStore({ prefix, client });
  const placed = Array.from({ length: 1_000 }, (_, index) => ({ id: BigInt(index) }));
  await store.orders.place(placed.map((record) => ({ record, status: "pending" })));
  const limits: (number | undefined)[] = [];
  client.middlewareStack.add(
    (next, { commandName }) =>
      (args) => {
        if (commandName === "QueryCommand") limits.push((args.input as { Limit?: number }).Limit);
        return next(args);
      },
    { step: "initialize" },
  );
  const found: bigint[] = [];
  for await (const page of store.orders.scan(99n, 51)) {
    found.push(...page.map(({ record }) => record.id));
    if (found.length >= 51) break;
  }
  expect(found.slice(0, 51)).toEqual(placed.slice(100, 151).map(({ id }) => id));
  expect(limits.length).toBeLessThanOrEqual(2 * DEFAULT_BUCKETS + 4);
  // 7 orders are less than the 4 KB of a read unit.
  expect(new Set(limits)).toEqual(new Set([7]));
});
