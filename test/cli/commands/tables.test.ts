import { afterAll, beforeAll, expect, test } from "vitest";
import { createCommandLine } from "../../support/command-line.ts";
import { type Emulator, startEmulator } from "../../support/dynamodb/emulator.ts";

const cli = createCommandLine();
let emulator: Emulator;
beforeAll(async () => {
  emulator = await startEmulator("as-is");
});
afterAll(async () => {
  await emulator.stop();
  cli[Symbol.dispose]();
});

const awsEnvironment = () => ({
  AWS_ENDPOINT_URL: emulator.endpoint,
  AWS_REGION: "eu-central-1",
  AWS_ACCESS_KEY_ID: "test",
  AWS_SECRET_ACCESS_KEY: "test",
  STORE_ORDERS_DYNAMODB: "dev",
});
const run = (...args: string[]) => cli.run(args, { env: awsEnvironment() });

test("accounts, keys, orders and serve work on DynamoDB tables that the command line creates and deletes", async () => {
  expect((await run("tables", "create")).status).toBe(0);
  expect((await run("tables", "create")).status, "creating them again changes nothing").toBe(0);
  expect((await run("accounts", "create", "acme", "--plan", "pro")).status).toBe(0);
  expect((await run("accounts", "create", "acme", "--plan", "pro")).status).toBe(1);
  const { key, keyId } = JSON.parse((await run("keys", "issue", "--account", "acme", "--json")).stdout);
  for (const id of ["9223372036854775807", "-5", "3"])
    expect((await run("orders", "place", "--id", id)).status).toBe(0);
  expect((await run("orders", "ship", "3")).status).toBe(0);

  const { url, message, stop } = await cli.serve([], { env: awsEnvironment() });
  expect(message).toMatch(/^database {7}DynamoDB, dev-orders and dev-accounts$/m);
  const headers = { authorization: `Bearer ${key}` };
  expect(await (await fetch(`${url}/v1/store/orders`, { headers })).text()).toMatch(
    /^\[\{"id":-5\},\{"id":3,"shipDate":"[^"]+"\},\{"id":9223372036854775807\}\]$/,
  );
  const cancel = (id: string) => fetch(`${url}/v1/store/orders/${id}`, { method: "DELETE", headers });
  expect([(await cancel("-5")).status, (await cancel("-5")).status, (await cancel("3")).status]).toEqual([
    204, 409, 409,
  ]);
  expect((await run("keys", "revoke", keyId)).status).toBe(0);
  expect((await fetch(`${url}/v1/store/orders`, { headers })).status).toBe(401);
  expect((await stop()).status).toBe(0);

  expect((await run("orders", "export")).stdout.split("\n")).toHaveLength(4);
  expect((await run("tables", "delete")).status, "--yes is required").toBe(2);
  expect((await run("tables", "delete", "--yes")).status).toBe(0);
  const deleted = await run("accounts", "list");
  expect([deleted.status, deleted.stdout]).toEqual([3, ""]);
});

test("a missing prefix exits with 2, and an unreachable endpoint with 3", async () => {
  const noPrefix = await cli.run(["tables", "create"]);
  expect([noPrefix.status, noPrefix.stderr]).toEqual([
    2,
    expect.stringContaining("--dynamodb: Set the prefix of the tables."),
  ]);
  const env = { ...awsEnvironment(), AWS_ENDPOINT_URL: "http://127.0.0.1:9" };
  const unreachable = await cli.run(["accounts", "list"], { env });
  expect([unreachable.status, unreachable.stdout]).toEqual([3, ""]);
  expect(unreachable.stderr).toMatch(/^error: DynamoDB is unreachable or timed out/);
  const server = await cli.run(["serve", "--port", "0"], { env });
  expect([server.status, server.stdout], "serve prints no address").toEqual([3, ""]);
});

test("serve names a missing table, region or credentials before it prints an address", async () => {
  const serve = (env: Record<string, string>) =>
    cli.run(["serve", "--port", "0", "--dynamodb", "absent"], { env });
  const { AWS_REGION, AWS_ENDPOINT_URL, ...credentials } = awsEnvironment();
  const missing = await serve(awsEnvironment());
  expect([missing.status, missing.stdout]).toEqual([3, ""]);
  expect(missing.stderr).toBe(
    "error: The table absent-orders or absent-accounts does not exist. Check --dynamodb and AWS_REGION, or create the " +
      "tables with 'npm run --silent cli -- tables create --dynamodb absent'.\n",
  );

  // Profiles and instance roles of this machine must not be used.
  const isolated = {
    AWS_CONFIG_FILE: "/dev/null",
    AWS_SHARED_CREDENTIALS_FILE: "/dev/null",
    AWS_EC2_METADATA_DISABLED: "true",
  };
  const noRegion = await serve({ ...isolated, ...credentials, AWS_ENDPOINT_URL });
  expect([noRegion.status, noRegion.stdout]).toEqual([2, ""]);
  expect(noRegion.stderr).toMatch(/^error: AWS_REGION: The region is missing\. Set AWS_REGION/);

  const noCredentials = await serve({ ...isolated, AWS_REGION, AWS_ENDPOINT_URL });
  // The role of a machine can arrive after its start.
  expect([noCredentials.status, noCredentials.stdout]).toEqual([3, ""]);
  expect(noCredentials.stderr).toMatch(
    /^error: AWS credentials: .*Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY/,
  );
});

test("commands use a table of any name, and name it if it is missing", async () => {
  const env = { ...awsEnvironment(), STORE_ORDERS_DYNAMODB: "dev-orders-restored,dev-accounts" };
  const named = (...args: string[]) => cli.run(args, { env });
  const created = await named("tables", "create");
  expect([created.status, created.stderr]).toEqual([
    0,
    "The tables dev-orders-restored and dev-accounts are ready.\n",
  ]);
  expect((await named("orders", "place", "--id", "7")).status).toBe(0);
  const checked = JSON.parse((await named("database", "check", "--json")).stdout);
  expect(checked).toMatchObject({ database: "dev-orders-restored,dev-accounts", orders: 1, findings: 0 });
  const missing = await named("accounts", "list", "--dynamodb", "gone,gone-too");
  expect([missing.status, missing.stderr]).toEqual([
    3,
    "error: The table gone or gone-too does not exist. Check --dynamodb and AWS_REGION, or create the tables with " +
      "'npm run --silent cli -- tables create --dynamodb gone,gone-too'.\n",
  ]);
  expect((await named("tables", "delete", "--yes")).stderr).toBe(
    "Deleted the tables dev-orders-restored and dev-accounts.\n",
  );
});
