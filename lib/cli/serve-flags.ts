import { type Command, InvalidArgumentError, Option } from "commander";
import { DEFAULT_BAN_POLICY } from "../accounts/admission.ts";
import { findBasePathProblem } from "../http/base-path.ts";
import { findOriginProblem } from "../http/cors.ts";
import type { HandlerOptions } from "../http/handler-options.ts";
import { PLANS, type Plan } from "../plans/plan-limits.ts";
import { MINUTE_MS } from "../plans/windows.ts";
import { readBaseUrl, readNumberBetween, readPort, readUrl } from "./arguments.ts";
import { DEMO_ACCOUNT } from "./demo.ts";

/** The options of `serve`. */
export interface ServeFlags {
  readonly host?: string;
  readonly port?: number;
  readonly domains?: string;
  readonly plan?: Plan;
  readonly trustProxy?: boolean;
  readonly basePath?: string;
  readonly server?: readonly string[];
  readonly docsUrl?: string;
  readonly corsOrigin?: readonly string[];
  readonly banAfter?: number;
  readonly banMinutes?: number;
  readonly demo?: boolean;
}

/** Adds the options of `serve` to the command. */
export function addServeFlags(command: Command): Command {
  return command
    .option("--host <host>", "the address to listen on (HOST; default: 127.0.0.1)")
    .option("--port <port>", "the port to listen on, 0 for a free one (PORT; default: 8787)", readPort)
    .option("--domains <file>", "the custom domains to serve and redirect (STORE_ORDERS_DOMAINS)")
    .addOption(new Option("--plan <plan>", PLAN_HELP).choices(PLANS))
    .option("--trust-proxy", "read caller addresses from the last entry of X-Forwarded-For")
    .option("--base-path <path>", "serve everything below this path, such as /shop", readBasePath)
    .option("--server <url...>", "further base URLs for the OpenAPI document (repeatable)", readBaseUrl)
    .option("--docs-url <url>", "the page that deprecated operations link to (default: /docs)", readUrl)
    .option("--cors-origin <origin...>", "let web pages of this origin call the API (repeatable)", readOrigin)
    .option("--ban-after <rejections>", BAN_AFTER_HELP, readNumberBetween(1, MAX_REJECTIONS))
    .option("--ban-minutes <minutes>", BAN_MINUTES_HELP, readNumberBetween(1, MAX_BAN_MINUTES))
    .option("--demo", `add the account ${DEMO_ACCOUNT}, a key and some orders if the database is empty`);
}

/** Where `docsPage()` serves the documentation, below the base path. */
export const DOCS_PATH = "/docs";

/** The options of the handler that the flags set. */
export function toHandlerOptions({
  basePath = "",
  server = [],
  docsUrl = `${basePath}${DOCS_PATH}`,
  corsOrigin,
  banAfter = DEFAULT_BAN_POLICY.maxRejections,
  banMinutes = DEFAULT_BAN_POLICY.durationMs / MINUTE_MS,
}: ServeFlags) {
  return {
    basePath,
    servers: server.map((url) => ({ url })),
    docsUrl,
    ...(corsOrigin === undefined ? {} : { corsOrigins: corsOrigin }),
    banPolicy: { maxRejections: banAfter, durationMs: banMinutes * MINUTE_MS },
  } satisfies Partial<HandlerOptions>;
}

const MAX_REJECTIONS = 10_000;
const MAX_BAN_MINUTES = 1_440;

const PLAN_HELP =
  "the plan of the project; custom domains need pro or above (STORE_ORDERS_PLAN; default: free)";
const BAN_AFTER_HELP = `ban a key after more than this many rejected requests in a minute (default: ${DEFAULT_BAN_POLICY.maxRejections})`;
const BAN_MINUTES_HELP = `how long a ban lasts (default: ${DEFAULT_BAN_POLICY.durationMs / MINUTE_MS})`;

function readBasePath(text: string): string {
  const problem = findBasePathProblem(text);
  if (problem !== undefined) throw new InvalidArgumentError(problem);
  return text;
}

function readOrigin(text: string, previous: readonly string[] = []): readonly string[] {
  const problem = findOriginProblem(text);
  if (problem !== undefined) throw new InvalidArgumentError(problem);
  return [...previous, text];
}
