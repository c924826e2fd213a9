import { expect, test } from "vitest";
import { createTelemetry } from "../../infra/functions/telemetry.ts";
import { createHandler } from "../../lib/http/handler.ts";
import { docsPage } from "../../lib/node/index.ts";
import { createDynamodbStore, createDynamodbTables } from "../../lib/stores/dynamodb/index.ts";
import { createHandlerFixture } from "../http/fixture.ts";
import { clientFor, startEmulator } from "../support/dynamodb/emulator.ts";
import { startProxy } from "../support/dynamodb/proxy.ts";
import { detectLeaks } from "./secrets/detect-leaks.ts";
import { unknownKey } from "./secrets/leak-detector.ts";
import { sendKeysEverywhere } from "./secrets/send-keys-everywhere.ts";

const detector = detectLeaks("the functions");
const { record, addSecret } = detector;

test("no log line, metric or response of the functions contains a key or a hash, and no request to DynamoDB contains a key", async () => {
  const emulator = await startEmulator("all-old");
  let isDown = false;
  const proxy = await startProxy(emulator.endpoint, () => (isDown ? "cut" : "pass"));
  const client = clientFor(proxy.endpoint);
  await createDynamodbTables({ prefix: "secret", client });
  const sent: string[] = [];
  client.middlewareStack.add(
    (next) => (args) => {
      sent.push(JSON.stringify(args.request));
      return next(args);
    },
    { step: "finalizeRequest", name: "listen" },
  );
  const store = createDynamodbStore({ prefix: "secret", client });
  const telemetry = createTelemetry({ namespace: "secret", write: (line) => record("the log", line) });
  const fixture = await createHandlerFixture({ store });
  addSecret(fixture.key);
  const handler = createHandler({
    store: telemetry.instrument(store),
    onRequest: telemetry.onRequest,
    clock: () => fixture.time.now,
    banPolicy: { maxRejections: 2, durationMs: 60_000 },
    documents: docsPage(),
    pets: async () => {
      throw new Error(`The caller sent Bearer ${fixture.key}`);
    },
  });
  const send = (method: string, path: string, headers: Readonly<Record<string, string>>) =>
    handler(new Request(`http://localhost${path}`, { method, headers }), { address: "192.0.2.1" });
  const bearer = { authorization: `Bearer ${fixture.key}` };
  const pet = await send("GET", "/v1/pets/1", bearer);
  expect(pet.status).toBe(500);
  record("an error", await pet.text());
  const statuses = new Set<number>();
  for (let request = 0; request < 70; request++) {
    statuses.add((await send("GET", "/v1/store/orders", bearer)).status);
  }
  expect(statuses).toEqual(new Set([200, 429]));
  await sendKeysEverywhere(detector, [fixture.key, addSecret(unknownKey())], send);
  isDown = true;
  const down = await send("GET", "/v1/store/orders", {
    authorization: `Bearer ${addSecret(unknownKey("other"))}`,
  });
  expect(down.status).toBe(503);
  record("an outage", await down.text());

  expect(sent.length).toBeGreaterThan(100);
  expect(sent.filter((request) => request.includes(fixture.key.slice(-38, -10)))).toEqual([]);
  client.destroy();
  await proxy.close();
  await emulator.stop();
});
