import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { homeOfPackages } from "../../support/install-packages.ts";
import type { OurOptions } from "./ours.ts";
import { type Program, START_FLAGS } from "./server-process.ts";
import { sourcesOf } from "./sources.ts";

/** The candidates of a job by name. Ours is `ours`. */
export type Candidates = Readonly<Record<string, Program>>;

export const PEERS_HOME: string = homeOfPackages("bench-peers");

export const PEERS = ["express", "fastify", "hono"];
/** The fastest of them, with its counts in the database instead of its memory. */
export const COUNTS_IN_SQLITE = "fastify, counts in SQLite";
/** The hand-written services on PostgreSQL, by the number of statements of a cancel. */
export const POSTGRES_PEERS = ["3 statements", "1 statement"];
/** Bare `node:http` on the database of the peers: SQLite builds the JSON of each page from columns. */
export const PAGE_SQL = "page-sql";
export const NO_OUTBOX = "without";
/** A bare `node:http` server on the database of the peers, which counts in its memory: the ceiling. */
export const BARE = "node:http";
/** The commit that the functions are compared with. */
export const BASE_COMMIT = "a03f254";
/** The commit that the server on SQLite is compared with. */
export const EARLIER = "a9c391f7";
/** The DynamoDB client of the AWS SDK, with one call. */
export const SDK_ALONE = "SDK alone";

/** SQLite databases with the same orders, accounts and keys: ours, that of the earlier commit, and one in the schema of the peers. */
export interface SqliteFiles {
  readonly ours: string;
  readonly earlier: string;
  readonly peers: string;
}

/** A clock that advances at each reading, so that no limit is ever reached. */
const NO_LIMIT = { clockStep: 2 };

export function ours(options: OurOptions, environment: Readonly<Record<string, string>> = {}): Program {
  const file = new URL("ours.ts", import.meta.url);
  return { file, arguments: [JSON.stringify(options)], environment, flags: START_FLAGS };
}

/** Ours, now and at the earlier commit, the frameworks, and the bare server. */
export function withPeers(
  { ours: database, earlier, peers }: SqliteFiles,
  options: OurOptions = NO_LIMIT,
): Candidates {
  const before = pathToFileURL(join(sourcesOf(EARLIER), "test/bench/servers/ours.ts"));
  const programs = PEERS.map((name) => [name, peer(name, peers)]);
  return {
    ours: ours({ database, ...options }),
    [EARLIER]: { ...ours({ database: earlier, ...options }), file: before },
    ...Object.fromEntries(programs),
    [BARE]: peer("node-http", peers),
  };
}

/** The same, for rejections without a ban, which the peers do not have. */
export function withoutBans(files: SqliteFiles): Candidates {
  return withPeers(files, { maxRejections: 1_000_000_000 });
}

/** The same, and the one that counts in the database. */
export function withDurableCounts(files: SqliteFiles): Candidates {
  return { ...withPeers(files), [COUNTS_IN_SQLITE]: peer("fastify", files.peers, "durable") };
}

/** The same, and `page-sql`. */
export function withPageSql(files: SqliteFiles): Candidates {
  const pageSql = { file: new URL("page-sql.ts", import.meta.url), arguments: [files.peers] };
  return { ...withPeers(files), [PAGE_SQL]: pageSql };
}

/** Ours and the hand-written services on a PostgreSQL database. */
export function withPostgresPeers(url: string): Candidates {
  return {
    ours: ours({ postgres: url, ...NO_LIMIT }),
    "3 statements": peer("fastify-pg", url, "statements"),
    "1 statement": peer("fastify-pg", url, "cte"),
  };
}

/** Ours with the outbox on, which marks each change for delivery, and without. */
export function withOutbox(options: OurOptions): Candidates {
  return {
    ours: ours({ ...options, ...NO_LIMIT, outbox: true }),
    [NO_OUTBOX]: ours({ ...options, ...NO_LIMIT }),
  };
}

/** Ours alone, on a DynamoDB emulator. */
export function onDynamodb(prefix: string, environment: Readonly<Record<string, string>>): Candidates {
  return { ours: ours({ dynamodb: prefix, ...NO_LIMIT }, environment) };
}

function peer(name: string, ...args: readonly string[]): Program {
  return { file: join(PEERS_HOME, `${name}.mjs`), arguments: args };
}
