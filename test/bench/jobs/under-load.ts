import assert from "node:assert/strict";
import { FIRST_ID } from "../fixture.ts";
import { measureUnderLoad } from "../load/load.ts";
import { inTurns, type Samples } from "../rounds.ts";
import {
  withDurableCounts,
  withOutbox,
  withoutBans,
  withPeers,
  withPostgresPeers,
} from "../servers/candidates.ts";
import { start } from "../servers/server-process.ts";
import { type Bench, type OpenStage, onPostgres, onSqlite, type Stage } from "../servers/stages.ts";

/** Requests that every candidate serves, each time in a fresh process on a fresh copy of its database. */
interface UnderLoad {
  readonly open: OpenStage;
  readonly connections: number;
  /** For cancels: more than the most in a second. Each order is cancelled once. */
  readonly cancelsPerSecond?: number;
  /** @default 1 */
  readonly accounts?: number;
  /** Every response is a rejection instead of none. */
  readonly isRejected?: boolean;
}

const SECONDS = 3;
const LIST = "/v1/store/orders";
/** The share of responses that may not be rejections: a new window admits a few requests. */
const MAX_ADMITTED = 0.05;
/** One more than the free plan's limit. */
const OVER_THE_LIMIT = 61;

const POSTGRES = onPostgres(withPostgresPeers);
const [SQLITE_OUTBOX, POSTGRES_OUTBOX] = [
  onSqlite(({ ours }) => withOutbox({ database: ours })),
  onPostgres((postgres) => withOutbox({ postgres })),
];

const LOADS: Readonly<Record<string, UnderLoad>> = {
  list: { open: onSqlite(withPeers), connections: 32 },
  cancel: { open: onSqlite(withPeers), connections: 32, cancelsPerSecond: 70_000 },
  "single-cancel": { open: onSqlite(withDurableCounts), connections: 1, cancelsPerSecond: 25_000 },
  rejected: { open: onSqlite(withoutBans), connections: 32, isRejected: true },
  outbox: { open: SQLITE_OUTBOX, connections: 32, cancelsPerSecond: 70_000 },
  "postgres-cancel": { open: POSTGRES, connections: 32, cancelsPerSecond: 15_000 },
  "postgres-cancel-100-accounts": {
    open: POSTGRES,
    connections: 32,
    cancelsPerSecond: 15_000,
    accounts: 100,
  },
  "postgres-single-cancel": { open: POSTGRES, connections: 1, cancelsPerSecond: 5_000 },
  "postgres-list": { open: POSTGRES, connections: 32 },
  "postgres-outbox": { open: POSTGRES_OUTBOX, connections: 32, cancelsPerSecond: 15_000 },
};

export const UNDER_LOAD: Readonly<Record<string, (bench: Bench) => Promise<Samples>>> = Object.fromEntries(
  Object.entries(LOADS).map(([job, load]) => [job, (bench) => run(bench, load)]),
);

async function run({ folder, rounds, quick, log }: Bench, load: UnderLoad): Promise<Samples> {
  const { open, connections, cancelsPerSecond, accounts = 1, isRejected = false } = load;
  const seconds = quick ? 1 : SECONDS;
  const stage = await open(folder, { orders: (cancelsPerSecond ?? 0) * (seconds + 1) || 20, accounts });
  try {
    await expectEqualResponses(stage, load);
    const keys = isRejected ? [stage.freeKey ?? ""] : stage.keys;
    const requests =
      cancelsPerSecond === undefined
        ? ({ method: "GET", path: LIST } as const)
        : ({ method: "DELETE", path: `${LIST}/`, firstId: FIRST_ID } as const);
    return await inTurns(Object.keys(await stage.candidates()), rounds, async (name, round) => {
      log(`round ${round + 1} of ${rounds}, ${name}`);
      const program = (await stage.candidates())[name];
      assert(program !== undefined);
      const figures = await measureUnderLoad(program, { ...requests, keys, connections }, seconds);
      const { rejected = NaN } = figures;
      const isExpected = isRejected ? rejected >= 1 - MAX_ADMITTED : rejected === 0;
      assert(isExpected, `${name}: ${(rejected * 100).toFixed(2)}% of the responses were rejections.`);
      return figures;
    });
  } finally {
    await stage.remove();
  }
}

/**
 * Throws unless every candidate responds alike, each on a fresh copy of its database: the same status, the same limit
 * headers, and the same body byte for byte.
 */
async function expectEqualResponses(
  stage: Stage,
  { isRejected, cancelsPerSecond }: UnderLoad,
): Promise<void> {
  const authorization = `Bearer ${isRejected ? stage.freeKey : stage.keys[0]}`;
  const cancelled = `${LIST}/${FIRST_ID + 1}`;
  const paths =
    cancelsPerSecond === undefined
      ? Array.from({ length: isRejected ? OVER_THE_LIMIT : 1 }, () => LIST)
      : [cancelled, cancelled, `${LIST}/1`];
  const method = cancelsPerSecond === undefined ? "GET" : "DELETE";
  let expected: readonly string[] | undefined;
  for (const name of Object.keys(await stage.candidates())) {
    const program = (await stage.candidates())[name];
    assert(program !== undefined);
    const server = await start(program);
    try {
      const responses: string[] = [];
      for (const path of paths) {
        const response = await fetch(server.url + path, { method, headers: { authorization } });
        const headers = LIMIT_HEADERS.filter((header) => response.headers.has(header));
        responses.push([response.status, ...headers, await response.text()].join(" "));
      }
      expected ??= responses;
      assert.deepEqual(responses, expected, `${name} does not respond like the others`);
    } finally {
      await server.stop();
    }
  }
}

const LIMIT_HEADERS = ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset", "retry-after"];
