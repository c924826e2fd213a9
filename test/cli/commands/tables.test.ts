import { afterAll, beforeAll, expect, test } from "vitest";
import { commandLine, ended, written } from "../../support/command-line.ts";
import { type Emulator, startEmulator } from "../../support/dynamodb/emulator.ts";

const cli = commandLine();
let emulator: Emulator;
beforeAll(async () => {
  emulator = await startEmulator("as-is");
});
afterAll(async () => {
  await emulator.stop();
  cli[Symbol.dispose]();
});

const aws = () => ({
  AWS_ENDPOINT_URL: emulator.endpoint,
  AWS_REGION: "eu-central-1",
  AWS_ACCESS_KEY_ID: "test",
  AWS_SECRET_ACCESS_KEY: "test",
  STORE_ORDERS_DYNAMODB: "shop",
});
const run = (...words: string[]) => cli.run(words, { env: aws() });

test("the whole life of a shop on DynamoDB, from its tables to their end", async () => {
  expect((await run("tables", "create", "--buckets", "4")).status).toBe(0);
  expect((await run("tables", "create")).status, "again changes nothing").toBe(0);
  expect((await run("accounts", "create", "acme", "--plan", "pro")).status).toBe(0);
  expect((await run("accounts", "create", "acme", "--plan", "pro")).status).toBe(1);
  const { key, keyId } = JSON.parse((await run("keys", "issue", "--account", "acme", "--json")).stdout);
  for (const id of ["9223372036854775807", "-5", "3"])
    expect((await run("orders", "place", "--id", id)).status).toBe(0);
  expect((await run("orders", "ship", "3")).status).toBe(0);

  const server = cli.spawn(["serve", "--port", "0"], { env: aws() });
  const log = ended(server);
  const block = await written(server, /^database.*\n/m);
  expect(block).toMatch(/^database {7}DynamoDB, shop-orders and shop-accounts$/m);
  const [, url = ""] = /(http:\S+)\/v1/.exec(block) ?? [];
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
  server.kill("SIGTERM");
  expect((await log).status).toBe(0);

  expect((await run("orders", "export")).stdout.split("\n")).toHaveLength(4);
  expect((await run("tables", "delete")).status, "wants a yes").toBe(2);
  expect((await run("tables", "delete", "--yes")).status).toBe(0);
  const gone = await run("accounts", "list");
  expect([gone.status, gone.stdout]).toEqual([3, ""]);
});

test("tables need a prefix, and an engine that is not there ends with 3", async () => {
  const bare = await cli.run(["tables", "create"]);
  expect([bare.status, bare.stderr]).toEqual([
    2,
    expect.stringContaining("--dynamodb: Give the prefix of the tables."),
  ]);
  const env = { ...aws(), AWS_ENDPOINT_URL: "http://127.0.0.1:9" };
  const away = await cli.run(["accounts", "list"], { env });
  expect([away.status, away.stdout]).toEqual([3, ""]);
  expect(away.stderr).toMatch(/^error: DynamoDB could not be asked/);
});
