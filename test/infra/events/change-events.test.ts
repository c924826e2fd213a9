import { createServer } from "node:http";
import { json } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createDynamodbStore } from "../../../lib/stores/dynamodb/index.ts";
import { damageItem } from "../../stores/dynamodb/contract-on-dynalite.ts";
import { clientFor } from "../../support/dynamodb/emulator.ts";
import { listenOn } from "../../support/free-port.ts";
import { cloud } from "../harness/cloud.ts";
import { type Deployed, deploy } from "../harness/deployed.ts";
import { type Outcome, ofType, run } from "../harness/program.ts";

const FUNCTION = "store-orders-staging-events-function";
const BUS = "arn:aws:events:eu-central-1:123456789012:event-bus/default";

/** The events that EventBridge accepted, and how it answers: `PutEvents` of its JSON protocol. */
const accepted: Record<string, unknown>[] = [];
let answer: "accept" | "throttle" | "fail" = "accept";
const eventBridge = createServer(async (request, response) => {
  expect(request.headers["x-amz-target"]).toBe("AWSEvents.PutEvents");
  const { Entries } = (await json(request)) as { Entries: Record<string, unknown>[] };
  response.setHeader("content-type", "application/x-amz-json-1.1");
  if (answer === "fail") return response.writeHead(500).end('{"__type":"InternalException"}');
  if (answer === "accept") accepted.push(...Entries);
  const entry =
    answer === "accept" ? { EventId: "1" } : { ErrorCode: "ThrottlingException", ErrorMessage: "Slow down" };
  return response.end(JSON.stringify({ FailedEntryCount: answer === "accept" ? 0 : 1, Entries: [entry] }));
});

let outcome: Outcome;
let deployed: Deployed;
let store: ReturnType<typeof createDynamodbStore>;
beforeAll(async () => {
  const port = await listenOn(eventBridge);
  const config = { "store-orders:events": { bus: "default" } };
  outcome = await run({ stack: "staging", config, bundle: true, cloud: cloud() });
  deployed = await deploy(outcome, {
    AWS_ENDPOINT_URL_EVENTBRIDGE: `http://127.0.0.1:${port}`,
    AWS_MAX_ATTEMPTS: "1",
  });
  store = createDynamodbStore({ prefix: "store-orders-staging", client: clientFor(deployed.endpoint) });
  await invoke();
});
afterAll(async () => {
  await deployed.stop();
  eventBridge.close();
});

/** Invokes the function as the schedule does. Returns the metrics that it wrote. */
async function invoke(): Promise<unknown> {
  const { as } = await deployed.invoke(FUNCTION, { source: "aws.events" });
  expect(as).toBe("response");
  const lines = deployed.log(FUNCTION).split("\n");
  const last = lines.findLast((line) => line.includes("ChangesWaiting")) ?? "{}";
  const { ChangesWaiting: waiting, ChangesFailed: failed, ChangesAge: age } = JSON.parse(last);
  return { waiting, failed, age };
}

describe("a stack with events", () => {
  test("sends each change to the bus, those of an order in their order", async () => {
    await store.orders.place([{ record: { id: 9007199254740993n, quantity: 2 }, status: "pending" }], 1_000, {
      by: "orders place",
    });
    await store.orders.apply(9007199254740993n, "cancel", 2_000, { by: "acme.9fK2xW7qLm", requestId: "r-1" });
    expect(await invoke()).toEqual({ waiting: 0, failed: 0, age: 0 });
    const shown = (detail: unknown) => `${detail}`.replace(/(:\d):\w{10}"/, '$1:TOKEN"');
    expect(accepted.map(({ Time: _, Detail, ...event }) => ({ ...event, Detail: shown(Detail) }))).toEqual([
      {
        EventBusName: BUS,
        Source: "store-orders",
        DetailType: "order.place",
        Detail:
          '{"id":"9007199254740993:1:TOKEN","event":"place","at":"1970-01-01T00:00:01.000Z","to":"pending","by":"orders place","status":"cancelled","order":{"id":9007199254740993,"quantity":2}}',
      },
      {
        EventBusName: BUS,
        Source: "store-orders",
        DetailType: "order.cancel",
        Detail:
          '{"id":"9007199254740993:2:TOKEN","event":"cancel","at":"1970-01-01T00:00:02.000Z","from":"pending","to":"cancelled","by":"acme.9fK2xW7qLm","requestId":"r-1","status":"cancelled","order":{"id":9007199254740993,"quantity":2}}',
      },
    ]);
  });

  test.each(["throttle", "fail"] as const)("keeps a change while EventBridge says: %s", async (failure) => {
    accepted.length = 0;
    answer = failure;
    const id = failure === "fail" ? 1n : 2n;
    await store.orders.place([{ record: { id }, status: "pending" }]);
    expect(await invoke()).toMatchObject({ waiting: 1, failed: 0 });
    answer = "accept";
    await store.outbox?.postpone(id, (await store.outbox.list("waiting", 1))[0]?.due ?? 0, 0);
    expect(await invoke()).toEqual({ waiting: 0, failed: 0, age: 0 });
    expect(accepted).toMatchObject([{ DetailType: "order.place" }]);
  });

  test("sets aside an order that cannot be read, logs it, and sends the others", async () => {
    accepted.length = 0;
    await store.orders.place([4n, 5n].map((id) => ({ record: { id }, status: "pending" })));
    const client = clientFor(deployed.endpoint);
    await damageItem(client, "store-orders-staging", 4n, "record");
    expect(await invoke()).toMatchObject({ waiting: 0, failed: 1 });
    expect(accepted).toMatchObject([{ Detail: expect.stringContaining('"id":"5:1:') }]);
    expect(deployed.log(FUNCTION)).toContain("The record of order 4 is damaged");
    await store.outbox?.acknowledge([{ id: 4n, delivered: 1, lease: -1 }]);
    client.destroy();
  });

  test("fails while DynamoDB does, and logs the causes", async () => {
    deployed.faults.isDown = true;
    const { as } = await deployed.invoke(FUNCTION, { source: "aws.events" });
    deployed.faults.isDown = false;
    expect(as).toBe("error");
    const lines = deployed.log(FUNCTION).split("\n");
    const message = lines.findLast((line) => line.startsWith('{"level":"ERROR","message":"DynamoDB')) ?? "{}";
    expect(JSON.parse(message)).toEqual({
      level: "ERROR",
      message: expect.stringMatching(/^DynamoDB is unreachable or timed out.*(ECONNRESET|socket hang up)/),
    });
  });

  test("makes exactly the DynamoDB calls that its policy allows, besides those of the stream", () => {
    const { used, denied, allowed } = deployed.calls.get(FUNCTION) ?? {};
    expect([...(denied ?? [])]).toEqual([]);
    const stream = /Stream|GetRecords|GetShardIterator/;
    expect([...(used ?? [])].sort()).toEqual(allowed?.filter((call) => !stream.test(call)));
  });

  test("the stream wakes the function for new changes only: those that are due at once", async () => {
    const [mapping] = ofType(outcome, "aws:lambda/eventSourceMapping:EventSourceMapping");
    const filters = [{ pattern: '{"dynamodb":{"NewImage":{"u":{"N":["0"]}}}}' }];
    expect(mapping?.inputs["filterCriteria"]).toEqual({ filters });
    await store.orders.place([{ record: { id: 3n }, status: "pending" }]);
    expect(await store.outbox?.list("waiting", 1)).toMatchObject([{ due: 0 }]);
  });
});

describe("a run that was killed while it created the components of events", () => {
  const events = { "store-orders:events": { bus: "default" } };

  test("left a mapping: the next one fails with the way out", async () => {
    const exists =
      "ResourceConflictException: The event source arn and function provided mapping already exists. Please update or delete the existing mapping with UUID 9e5e8b96";
    const failing = { "store-orders-staging-events-stream": exists };
    const { code, logs } = await run({ stack: "staging", config: events, cloud: cloud({ failing }) });
    expect(code).not.toBe(0);
    expect(logs.map(({ message }) => message).join("\n")).toMatch(
      /The mapping of the stream to the function exists.* aws lambda delete-event-source-mapping --uuid /,
    );
  });

  test("left a target: the next one overwrites it, because a rule with targets cannot be deleted", () => {
    const [target] = ofType(outcome, "aws:cloudwatch/eventTarget:EventTarget");
    expect(target?.inputs["targetId"]).toBe("function");
  });
});
