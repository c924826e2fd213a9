import { expect, test } from "vitest";
import { MINUTE_MS } from "../../../lib/plans/windows.ts";
import { createDynamodbStore, createDynamodbTables } from "../../../lib/stores/dynamodb/index.ts";
import { clientFor } from "../../support/dynamodb/emulator.ts";
import { useEmulator } from "../../support/dynamodb/use-emulator.ts";
import { testProcesses } from "../test-processes.ts";

const AT = Date.UTC(2026, 10, 20, 12);

const emulator = useEmulator();

let databases = 0;
testProcesses(
  "DynamoDB",
  async () => {
    const prefix = `processes-${databases++}`;
    await createDynamodbTables({ prefix, client: emulator.client });
    return { kind: "dynamodb", endpoint: emulator.endpoint, prefix };
  },
  { races: 300 },
);

test("a rejection is decided again if another process opens a new minute in between", async () => {
  await createDynamodbTables({ prefix: "overtaken", client: emulator.client });
  const { accounts } = createDynamodbStore({ prefix: "overtaken", client: emulator.client });
  const key = { id: "acme.first", hash: "1".repeat(64), createdAt: AT };
  await accounts.create({
    id: "acme",
    plan: "enterprise",
    customLimits: { perMinute: 2, perDay: 100 },
    keys: [key],
  });
  const presented = { accountId: "acme", hash: key.hash };
  for (let call = 0; call < 2; call++) await accounts.admit(presented, AT);

  const late = clientFor(emulator.endpoint);
  let writes = 0;
  late.middlewareStack.add(
    (next) => async (request) => {
      if (++writes === 2) await accounts.admit(presented, AT + MINUTE_MS);
      return next(request);
    },
    { step: "initialize" },
  );
  const decided = await createDynamodbStore({ prefix: "overtaken", client: late }).accounts.admit(
    presented,
    AT,
  );
  late.destroy();
  expect(decided.ok).toBe(true);
  const account = await accounts.find("acme");
  expect(account?.usage.minute).toEqual({ start: AT + MINUTE_MS, count: 2 });
  expect(account?.rejections).toEqual({});
});
