import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { BatchWriteItemCommand, type DynamoDBClient, GetItemCommand } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { AccountStore } from "../../lib/accounts/account-store.ts";
import { DEFAULT_BAN_POLICY } from "../../lib/accounts/admission.ts";
import { MINUTE_MS } from "../../lib/plans/windows.ts";
import { createDynamodbStore, createDynamodbTables } from "../../lib/stores/dynamodb/index.ts";
import { tableDefinitions } from "../../lib/stores/dynamodb/schema.ts";
import { clientFor, EMULATED, type Emulator, startEmulator } from "../support/dynamodb/emulator.ts";
import { type DynamodbProxy, startProxy } from "../support/dynamodb/proxy.ts";
import { hashOf, type Outcome, type Outcomes, type Task } from "./hot-account/task.ts";
import {
  PARTITION_WRITES_PER_SECOND,
  SCALE,
  throttledPartitions,
} from "./hot-account/throttled-partitions.ts";
import { reportFigures } from "./run.ts";

/** The hot account reaches it after 12 seconds at the earliest, or once it is not throttled any more. */
const PER_MINUTE = 300;
const HOT = { plan: "enterprise", customLimits: { perMinute: PER_MINUTE, perDay: 100_000 } } as const;
const PREFIX = "throttled";
const PROCESSES = 3;
const QUIET_ACCOUNTS = 1_000;
/** Of the first attempts of the quiet accounts, one in so many fails. */
const CUT_EVERY = 20;
const HOT_AFTER_MS = 5_000;
/** In each process: three times what its partition takes. */
const HOT_EVERY_MS = (1_000 * PROCESSES) / (3 * PARTITION_WRITES_PER_SECOND);
/** On AWS, minutes. */
const SPLIT_AFTER_MS = 8_000;
const DURATION_MS = 26_000;

let emulator: Emulator;
let proxy: DynamodbProxy;
beforeAll(async () => {
  emulator = await startEmulator("all-old");
  proxy = await startProxy(emulator.endpoint);
});
afterAll(async () => {
  await proxy.close();
  await emulator.stop();
});

test("a hot account is throttled and limited, never beyond its limit, and of 1,000 quiet accounts only those in its partition notice, until it is split", async () => {
  const client = clientFor(emulator.endpoint);
  await createDynamodbTables({ prefix: PREFIX, client, buckets: 1 });
  const { accounts } = createDynamodbStore({ prefix: PREFIX, client });
  const quietAccounts = Array.from({ length: QUIET_ACCOUNTS }, (_, index) => `quiet-${index}`);
  const key = (id: string) => ({ id: `${id}.first`, hash: hashOf(id), createdAt: 0 });
  await accounts.create({ id: "hot", ...HOT, keys: [key("hot")] });
  await accounts.create({ id: "warm-up", plan: "free", keys: [key("warm-up")] });
  await warmUpRejections(accounts);
  await copyAccount(client, "warm-up", quietAccounts);
  const partitions = throttledPartitions("hot", { cutEvery: CUT_EVERY, splitAfterMs: SPLIT_AFTER_MS });
  proxy.chooseFault = partitions.chooseFault;

  const now = Date.now();
  const clockOffsetMs = MINUTE_MS - (now % MINUTE_MS);
  const task = { prefix: PREFIX, clockOffsetMs, windowEnd: now + clockOffsetMs + MINUTE_MS };
  const { hot, quiet } = await runProcesses(
    Array.from({ length: PROCESSES }, (_, process) => ({
      ...{ ...task, hotAfterMs: HOT_AFTER_MS, hotEveryMs: HOT_EVERY_MS, durationMs: DURATION_MS },
      quietAccounts: quietAccounts.filter((_, index) => index % PROCESSES === process),
    })),
  );
  const withCode = (outcomes: readonly Outcome[], code: Outcome["code"]) =>
    outcomes.filter((outcome) => outcome.code === code);
  const admitted = withCode(hot, "admitted");
  const limited = withCode(hot, "rate_limit_exceeded");
  const unavailable = withCode(hot, "store_unavailable");

  expect(quiet).toHaveLength(QUIET_ACCOUNTS);
  const sharedAt = (account: string, at: number) => partitions.share(account, "hot", at - clockOffsetMs);
  const [neighbours = [], others = []] = [true, false].map((shares) =>
    quiet.filter(({ account }) => partitions.share(account, "hot", 0) === shares),
  );
  // On a busy machine the emulator stalls: calls time out, and use up the retries. Throttling is never excused.
  const stalled = quiet.some(({ waitedMs }) => waitedMs >= 1_500);
  const failed = (outcomes: readonly Outcome[]) =>
    outcomes.filter(({ code, isThrottled }) => code !== "admitted" && (isThrottled !== false || !stalled));
  const hotSince = Math.min(...hot.map(({ at }) => at));
  const hotUntil = Math.min(...limited.map(({ at }) => at));
  const beside = neighbours.filter(
    ({ account, at }) => at >= hotSince && at < hotUntil && sharedAt(account, at),
  );
  const splitOff = neighbours.filter(({ account, at }) => !sharedAt(account, at));
  reportFigures("a hot account in DynamoDB", {
    scale: `1 / ${SCALE}: a partition takes ${PARTITION_WRITES_PER_SECOND} writes a second`,
    "its requests: admitted / 429 / 503": `${admitted.length} / ${limited.length} / ${unavailable.length}`,
    "slowest 503": `${Math.round(waits(unavailable).at(-1) ?? 0)} ms`,
    "requests that DynamoDB throttled, and splits": `${partitions.throttled()}, ${partitions.splits.length}`,
    "quiet accounts in its partition, and how many failed": `${beside.length}, ${failed(beside).length}`,
    "quiet accounts that a split separated from it, and how many failed": `${splitOff.length}, ${failed(splitOff).length}`,
    "quiet accounts in other partitions, and how many failed": `${others.length}, ${failed(others).length}`,
    "median and 99 % in its partition": `${percentile(waits(beside), 0.5)} ms, ${percentile(waits(beside), 0.99)} ms`,
    "median and 99 % in others": `${percentile(waits(others), 0.5)} ms, ${percentile(waits(others), 0.99)} ms`,
  });

  expect(failed(others)).toEqual([]);
  expect(beside.length).toBeGreaterThan(50);
  // At these rates, a request that is repeated finds little more capacity; account-back-off.test.ts has those of AWS.
  expect(failed(beside).length).toBeLessThan(0.6 * beside.length);
  expect(partitions.splits.length).toBeGreaterThan(0);
  expect(splitOff.length).toBeGreaterThan(0);
  expect(failed(splitOff)).toEqual([]);
  // Usually 30 ms. The slowest ones depend on how busy the machine is.
  expect(percentile(waits(others), 0.5)).toBeLessThan(1_000);

  expect(hot).toHaveLength(admitted.length + limited.length + unavailable.length);
  expect(partitions.throttled()).toBeGreaterThan(0);
  expect(unavailable.length).toBeGreaterThan(0);

  // What a caller is told to wait while the store is unavailable is long enough.
  await sleep(1_000 * Math.max(...unavailable.map(({ retryAfterSeconds = 0 }) => retryAfterSeconds)));
  const late = await runProcesses([
    { ...task, quietAccounts: [], hotAfterMs: 0, hotEveryMs: 1, durationMs: 1 },
  ]);
  expect(late.hot.map(({ code }) => code)).not.toContain("store_unavailable");

  // Once its partition takes all its requests, it gets the rest of its limit, because none that failed was counted.
  proxy.chooseFault = () => "pass";
  const rest = await runProcesses([
    { ...task, quietAccounts: [], hotAfterMs: 0, hotEveryMs: 20, durationMs: 20 * (PER_MINUTE + 10) },
  ]);
  const all = [...hot, ...late.hot, ...rest.hot];
  expect(withCode(all, "admitted").length).toBeLessThanOrEqual(PER_MINUTE);
  expect((await accounts.find("hot"))?.usage.minute.count).toBe(PER_MINUTE);
  const rejected = withCode(all, "rate_limit_exceeded");
  expect(rejected.length).toBeGreaterThan(0);
  for (const { at, retryAfterSeconds = 0, resetsAt = 0 } of rejected) {
    // What a rejected caller is told to wait ends with the window, rounded up to a second.
    expect(retryAfterSeconds).toBe(Math.max(1, Math.ceil((resetsAt - at) / 1_000)));
  }
  client.destroy();
});

function waits(outcomes: readonly Outcome[]): readonly number[] {
  return outcomes.map(({ waitedMs }) => waitedMs).toSorted((a, b) => a - b);
}

function percentile(sorted: readonly number[], share: number): number {
  return Math.round(sorted[Math.floor(share * sorted.length)] ?? Number.NaN);
}

/** The emulator takes a second to parse what the store sends for the first rejection of a key. */
async function warmUpRejections(accounts: AccountStore): Promise<void> {
  const id = "hot-warm-up";
  const customLimits = { perMinute: 1, perDay: 100_000 };
  const key = { accountId: id, hash: hashOf(id) };
  await accounts.create({
    ...{ id, plan: "enterprise", customLimits },
    keys: [{ id: `${id}.first`, hash: key.hash, createdAt: 0 }],
  });
  for (let call = 0; call < 4; call++)
    await accounts.admit(key, Date.now(), { ...DEFAULT_BAN_POLICY, maxRejections: 90_000 });
  for (let call = 0; call < 2; call++) {
    await accounts.recordRejections(key, 2, Date.now(), { ...DEFAULT_BAN_POLICY, maxRejections: 90_000 });
  }
}

/** Copies the first item of an account, 25 at a time, because creating as many takes long. */
async function copyAccount(client: DynamoDBClient, from: string, ids: readonly string[]): Promise<void> {
  const { name } = tableDefinitions({ prefix: PREFIX }).accounts;
  const { Item } = await client.send(new GetItemCommand({ TableName: name, Key: { id: { S: from } } }));
  for (let first = 0; first < ids.length; first += 25) {
    const requests = ids.slice(first, first + 25).map((id) => ({
      PutRequest: { Item: { ...Item, id: { S: id } } },
    }));
    await client.send(new BatchWriteItemCommand({ RequestItems: { [name]: requests } }));
  }
}

/** Runs the tasks at the same time, each in a process with its own client from the environment. */
async function runProcesses(tasks: readonly Task[]): Promise<Outcomes> {
  const program = new URL("hot-account/worker-process.ts", import.meta.url);
  const env = {
    ...process.env,
    AWS_ENDPOINT_URL: proxy.endpoint,
    AWS_REGION: EMULATED.region,
    AWS_ACCESS_KEY_ID: EMULATED.credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: EMULATED.credentials.secretAccessKey,
  };
  const workers = tasks.map((task) => fork(program, [JSON.stringify(task)], { env }));
  await Promise.all(workers.map(messageOf));
  for (const worker of workers) worker.send("go");
  const outcomes = (await Promise.all(workers.map(messageOf))) as Outcomes[];
  for (const worker of workers) worker.disconnect();
  return { hot: outcomes.flatMap(({ hot }) => hot), quiet: outcomes.flatMap(({ quiet }) => quiet) };
}

async function messageOf(worker: ChildProcess): Promise<unknown> {
  const failed = once(worker, "exit").then(([code]) =>
    Promise.reject(new Error(`A process ended with ${code}.`)),
  );
  return (await Promise.race([once(worker, "message"), failed]))[0];
}
