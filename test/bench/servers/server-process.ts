import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { PEERS_HOME } from "../install-peers.ts";
import { startChild } from "./child.ts";

/** A server in its own process. */
export interface RunningServer {
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

/** A program with its arguments. */
export interface Program {
  readonly file: string;
  readonly arguments: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** The flags of Node. @default none */
  readonly flags?: readonly string[];
}

/** The options of our server; see `ours.ts`. */
export interface OurOptions {
  readonly database?: string;
  /** The prefix of the tables, if the store is DynamoDB. */
  readonly dynamodb?: string;
  /** The connection string, if the store is PostgreSQL. */
  readonly postgres?: string;
  /** Milliseconds by which the clock advances at each reading, so that no limit is ever reached. */
  readonly clockStep?: number;
  /** Rejected requests before a ban. */
  readonly maxRejections?: number;
  /** Switches the outbox on, so that every change is marked for delivery. */
  readonly outbox?: boolean;
}

/** As `npm start`, the container and the systemd unit start the server. */
export const START_FLAGS = ["--max-semi-space-size=8"];

/** Our own server. */
export function ours(options: OurOptions, environment: Readonly<Record<string, string>> = {}): Program {
  return { file: pathOf("ours.ts"), arguments: [JSON.stringify(options)], environment, flags: START_FLAGS };
}

/** `node:http` with only what the jobs need, on our database or, with `columns`, on that of the peers. */
export function bare(database: string, schema: "records" | "columns" = "records"): Program {
  return { file: pathOf("bare.ts"), arguments: [database, schema] };
}

/** The frameworks that ours is compared with. */
export const PEERS = ["express", "fastify", "hono"] as const;

/** One of the peers. */
export function peer(name: (typeof PEERS)[number], database: string): Program {
  return { file: join(PEERS_HOME, `${name}.mjs`), arguments: [database] };
}

/** The hand-written services on PostgreSQL, by the number of statements of a cancel. */
export const POSTGRES_PEERS = ["3 statements", "1 statement"] as const;

/** One of the hand-written services. */
export function postgresPeer(
  name: (typeof POSTGRES_PEERS)[number],
  url: string,
  counts: "durable" | "relaxed" = "durable",
): Program {
  const variant = name === "1 statement" ? "cte" : "statements";
  return { file: join(PEERS_HOME, "fastify-pg.mjs"), arguments: [url, variant, counts] };
}

/** Starts a program and waits until it listens. */
export async function start({ file, arguments: args, environment, flags }: Program): Promise<RunningServer> {
  const child = startChild(file, args, environment, flags);
  const { port } = await child.nextMessage<{ readonly port: number }>();
  return { url: `http://127.0.0.1:${port}`, pid: child.pid, stop: child.end };
}

function pathOf(file: string): string {
  return fileURLToPath(new URL(file, import.meta.url));
}
