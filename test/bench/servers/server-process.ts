import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { PEERS_HOME } from "../install-peers.ts";
import { startChild } from "./child.ts";

/** A server in a process of its own. */
export interface RunningServer {
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

/** What to start: a program, with its arguments. */
export interface Program {
  readonly file: string;
  readonly arguments: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}

/** How our own server is made; see `ours.ts`. */
export interface OurOptions {
  readonly database?: string;
  /** The prefix of the tables, where the store is DynamoDB. */
  readonly dynamodb?: string;
  /** A clock that begins now and goes on by so many milliseconds at each look, so that no limit ever bites. */
  readonly clockStep?: number;
  /** Refused requests before a ban. */
  readonly refusals?: number;
}

/** Our own server. */
export function ours(options: OurOptions, environment: Readonly<Record<string, string>> = {}): Program {
  return { file: here("ours.ts"), arguments: [JSON.stringify(options)], environment };
}

/** `node:http` with what a job cannot do without, and nothing else. */
export function bare(database: string): Program {
  return { file: here("bare.ts"), arguments: [database] };
}

/** The frameworks that we compare with. */
export const PEERS = ["express", "fastify", "hono"] as const;

/** One of the peers. */
export function peer(name: (typeof PEERS)[number], database: string): Program {
  return { file: join(PEERS_HOME, `${name}.mjs`), arguments: [database] };
}

/** Starts a program and waits until it listens. */
export async function start({ file, arguments: given, environment = {} }: Program): Promise<RunningServer> {
  const child = startChild(file, given, environment);
  const { port } = await child.told<{ readonly port: number }>();
  return { url: `http://127.0.0.1:${port}`, pid: child.pid, stop: child.end };
}

function here(file: string): string {
  return fileURLToPath(new URL(file, import.meta.url));
}
