import { once } from "node:events";
import { isIPv6 } from "node:net";
import { type Command, Option } from "commander";
import { DEFAULT_BAN_POLICY } from "../../accounts/admission.ts";
import { errorMessage, invalidInput, isStoreUnavailable } from "../../core/errors.ts";
import { bareHost, type HostTable } from "../../domains/routing.ts";
import { isAbsent, readTextFile } from "../../files/read.ts";
import { findOriginProblem } from "../../http/cors.ts";
import { createHandler } from "../../http/handler.ts";
import { API_VERSION_PATH, OPERATIONS } from "../../http/operations.ts";
import { findKeyHeaderProblem, type HandlerOptions } from "../../http/options.ts";
import { findBasePathProblem } from "../../http/path.ts";
import { V2_PREVIEW_OPERATIONS } from "../../http/v2-preview.ts";
import type { MetricsOptions } from "../../metrics/index.ts";
import { docsPage, hasDocsPage } from "../../node/docs/docs-page.ts";
import type { ConnectionLimits } from "../../node/limits.ts";
import { formatHost } from "../../node/listen.ts";
import { startNodeServer } from "../../node/server.ts";
import { type DeliveredChange, deliverChanges } from "../../orders/delivery.ts";
import type { Plan } from "../../plans/plan-limits.ts";
import { MINUTE_MS } from "../../plans/windows.ts";
import type { Store } from "../../stores/store.ts";
import {
  checkedBy,
  each,
  invalid,
  nameFlags,
  planOption,
  readBaseUrl,
  readNumberBetween,
  readUrl,
} from "../arguments.ts";
import { type CommandContext, stopSignal, withStore, withStoreOrCreate } from "../context.ts";
import { DEMO_ACCOUNT, explainNotSeeded, formatNextSteps, seedDemo } from "../demo.ts";
import { type ListenAddress, listenOn, readAddress, readListenAddress, readPort } from "../listen.ts";
import { printEither } from "../output.ts";
import { addLogOptions, createServiceLog, type LogFlags } from "../service-log.ts";
import {
  type EnvironmentVariables,
  environmentOf,
  invalidValue,
  plansFileOf,
  readEnvironment,
  readPlan,
  readPlans,
  readVariable,
} from "../settings.ts";
import { chooseStore, type OpenedStore } from "../stores.ts";

export function defineServe(command: Command, context: CommandContext): void {
  const { clock, env, flags: storeFlags, terminal, version } = context;
  addLogOptions(addServeOptions(command))
    .addHelpText("after", HELP)
    .action(async (flags: ServeFlags & LogFlags) => {
      const { trustProxy = false, existing = false, demo = false, basePath = "", platformHost = [] } = flags;
      const address = readListenAddress(flags, env);
      const limits = readLimits(flags, env);
      readEnvironment(env);
      const handlerOptions = toHandlerOptions(flags);
      const log = createServiceLog(terminal, flags, { json: storeFlags.json, clock });
      const warn = (message: string) => log.write("warn", message);
      const stop = stopSignal(context);
      const stopped = once(stop, "abort");
      const file = flags.domains || readVariable(env, "STORE_ORDERS_DOMAINS");
      const database = existing ? chooseStore(storeFlags, env) : undefined;
      const databaseFile = database?.kind === "sqlite" ? database.location : undefined;
      const named = [plansFileOf(storeFlags, env), file, flags.webhookSecretFile, databaseFile];
      const files = named.filter((path) => path !== undefined);
      // A person at a terminal sees at once that a name is mistyped.
      if (terminal.screen === undefined) await waitForFiles(files, warn, context.wait, stop);
      if (stop.aborted) return log.write("info", `Stopped because of ${stop.reason}, before it has served.`);
      const plans = await readPlans(storeFlags, env);
      const deliver = await readWebhook(flags);
      const onError = (error: unknown, change?: DeliveredChange) =>
        warn(`${change === undefined ? "" : `change ${change.id}: `}${errorMessage(error)}`);
      // Before the database is created: invalid domains must leave nothing behind.
      const plan = readPlan(flags, env);
      if (file === undefined && platformHost.length > 0) throw invalidInput("--platform-host", EVERY_HOST);
      // Served in addition to the hosts of the file.
      const own = ["localhost", "127.0.0.1", "[::1]", formatHost(address.host), ...platformHost];
      // What reads and validates the file takes half of the time to start.
      const hosts =
        file && (await import("../../files/domains-file.ts")).watchDomainsFile(file, plan, own, warn);

      const serve = async ({ store, name, schema }: OpenedStore) => {
        // No address is printed for a server that cannot serve.
        await store.check();
        const operations = flags.preview === "v2" ? [...OPERATIONS, ...V2_PREVIEW_OPERATIONS] : OPERATIONS;
        const measured = { operations, plans, buildInfo: { version } };
        await using metrics = await startMetrics(flags.metrics, measured, hosts || undefined);
        const onRequest: HandlerOptions["onRequest"] = (event, source) => {
          metrics?.onRequest(event);
          log.onRequest?.(event, source);
        };
        const handler = createHandler({
          ...{ clock, plans, operations, ...handlerOptions },
          store: metrics === undefined ? store : metrics.instrument(store),
          documents: docsPage(),
          ...(hosts && { hosts }),
          ...((metrics ?? log.onRequest) && { onRequest }),
        });
        const start = () => startNodeServer({ handler, ...address, trustProxy, limits });
        // The metrics server may be what uses the port.
        const others = flags.metrics?.port === address.port ? "--metrics, " : "";
        const server = await listenOn(address, `${others}--host or HOST, --port or PORT`, start);
        metrics?.watch(server);
        let delivery: ReturnType<typeof deliverChanges> | undefined;
        const served = { plan, plans, domains: file, preview: flags.preview };
        const settings = { ...address, ...handlerOptions, trustProxy, ...limits, ...served };
        const environment = await environmentOf(store, env);
        const details = { version, node: process.version, store: name, schema, environment, settings };
        log.write("info", `Started store-orders ${version} on Node ${process.version}.`, details);
        try {
          if (deliver) {
            await Promise.race([switchOutboxOn(store), stopped]);
            delivery = deliverChanges({ store, deliver, concurrency: 16, onError });
          }
          if (flags.reportOnly)
            warn("--report-only: limits and bans reject no request with a valid key, and are only reported.");
          // Seed only while the server is listening, so that the key is always shown.
          const key = demo ? await seedDemo(store, env, clock) : undefined;
          const root = `${server.url}${basePath}`;
          const url = `${root}${API_VERSION_PATH}`;
          const docs = hasDocsPage() ? `${root}${DOCS_PATH}` : null;
          const result = { url, docs, database: name, metrics: metrics?.url, key: key ?? null };
          const nextSteps = terminal.display && key ? formatNextSteps(url, key, storeFlags) : "";
          const text = () => formatStartMessage({ ...result, domains: file }) + nextSteps;
          await printEither(context, result, text);
          if (demo && key === undefined) warn(explainNotSeeded(storeFlags));
          await stopped;
          log.write("info", `Stopping because of ${stop.reason}; requests in flight are completed.`);
        } finally {
          await Promise.all([server.close(STOP), delivery?.stop(STOP)]);
        }
        log.write("info", "Stopped.");
      };
      await (existing ? withStore : withStoreOrCreate)(context, serve, warn);
    });
}

const EVERY_HOST = "Without --domains every host is served. Omit it, or add --domains.";

/** The time for what is under way when a signal stops the process. Docker kills it after ten seconds. */
const STOP = { graceMs: 8_000 };

const HELP = `
Examples:
  $ store-orders serve --demo --database demo.db
  $ store-orders serve --domains domains.yaml --plan pro

Each request is logged on standard error: readable on a terminal, otherwise as a line of JSON.`;

interface ServeFlags {
  readonly host?: string;
  readonly port?: number;
  readonly domains?: string;
  readonly platformHost?: readonly string[];
  readonly plan?: Plan;
  readonly trustProxy?: boolean | number;
  readonly keepAliveSeconds?: number;
  readonly basePath?: string;
  readonly server?: readonly string[];
  readonly docsUrl?: string;
  readonly corsOrigin?: readonly string[];
  readonly banAfter?: number;
  readonly banMinutes?: number;
  readonly keyHeader?: readonly string[];
  readonly reportOnly?: boolean;
  readonly webhook?: string;
  readonly webhookSecretFile?: string;
  readonly existing?: boolean;
  readonly demo?: boolean;
  readonly metrics?: ListenAddress;
  readonly preview?: "v2";
}

function addServeOptions(command: Command): Command {
  const readOrigin = each(checkedBy(findOriginProblem));
  const readMinutes = readNumberBetween(1, 1_440);
  return command
    .option("--host <host>", "the address to listen on (HOST; default: 127.0.0.1)")
    .option("--port <port>", "the port to listen on, 0 for a free one (PORT; default: 8787)", readPort)
    .option("--domains <file>", "the custom domains to serve and redirect (STORE_ORDERS_DOMAINS)")
    .option(
      "--platform-host <name...>",
      "with --domains: another name by which this server is called, such as orders-api, and which it serves (repeatable)",
      each(readPlatformHost),
    )
    .addOption(planOption())
    .option(
      "--trust-proxy [proxies]",
      "read caller addresses from X-Forwarded-For, as the last of one or more proxies sends it",
      readNumberBetween(1, 10),
    )
    .option(
      "--keep-alive-seconds <seconds>",
      `close a connection that is idle for this long (${KEEP_ALIVE_VARIABLE}; default: 5)`,
      readNumberBetween(1, MAX_KEEP_ALIVE_SECONDS),
    )
    .option("--base-path <path>", "serve everything below this path", checkedBy(findBasePathProblem))
    .option("--server <url...>", "further base URLs for the OpenAPI document (repeatable)", each(readBaseUrl))
    .option("--docs-url <url>", "the page that deprecated operations link to (default: /docs)", readUrl)
    .option("--cors-origin <origin...>", "let web pages of this origin call the API (repeatable)", readOrigin)
    .addOption(new Option("--preview <version>", "serve the preview of this version, too").choices(["v2"]))
    .option(
      "--ban-after <rejections>",
      `ban a key after more than this many rejected requests in a minute that count (default: ${DEFAULT_BAN_POLICY.maxRejections})`,
      readNumberBetween(0, 10_000),
    )
    .option("--ban-minutes <minutes>", `how long a ban lasts (default: ${BAN_MINUTES})`, readMinutes)
    .option(
      "--key-header <name...>",
      "also read keys from this header, such as x-api-key (repeatable)",
      each((text) => checkedBy(findKeyHeaderProblem)(text.toLowerCase())),
    )
    .option("--report-only", "only report what the limits would reject or ban, and serve it")
    .option("--webhook <url>", "send every change of an order to this address, at least once")
    .option("--webhook-secret-file <file>", "the secret that signs webhooks; to replace it, two, a line each")
    .option("--metrics <address>", "serve Prometheus metrics at HOST:PORT, or PORT of 127.0.0.1", readAddress)
    .option("--existing", "fail if the database does not exist, instead of creating it")
    .option("--demo", `add the account ${DEMO_ACCOUNT}, a key and some orders if the database is empty`);
}

const BAN_MINUTES = DEFAULT_BAN_POLICY.durationMs / MINUTE_MS;
const MAX_WAIT_MS = 60_000;
const LOOK_MS = 500;

/** Waits for the files of a late mount. Whoever reads one that is still missing reports it: its name may be mistyped. */
async function waitForFiles(
  paths: readonly string[],
  warn: (message: string) => void,
  wait: CommandContext["wait"],
  stop: AbortSignal,
): Promise<void> {
  const findMissing = () => paths.filter(isAbsent);
  let missing = findMissing();
  if (missing.length === 0) return;
  const [verb, pronoun] = missing.length === 1 ? ["does", "it"] : ["do", "them"];
  warn(`${missing.join(" and ")} ${verb} not exist; waiting ${MAX_WAIT_MS / 1_000} seconds for ${pronoun}.`);
  for (let waited = 0; waited < MAX_WAIT_MS && missing.length > 0 && !stop.aborted; waited += LOOK_MS) {
    await wait(LOOK_MS);
    missing = findMissing();
  }
  // The writer of a file may not have finished.
  if (missing.length === 0) await wait(LOOK_MS);
}

const DOCS_PATH = "/docs";

function toHandlerOptions(flags: ServeFlags) {
  const { basePath = "", server = [], docsUrl = `${basePath}${DOCS_PATH}` } = flags;
  const { banAfter = DEFAULT_BAN_POLICY.maxRejections, banMinutes = BAN_MINUTES } = flags;
  const { corsOrigin, keyHeader, reportOnly } = flags;
  return {
    basePath,
    openapi: { servers: server.map((url) => ({ url })), docsUrl },
    ...(corsOrigin === undefined ? {} : { corsOrigins: corsOrigin }),
    banPolicy: { maxRejections: banAfter, durationMs: banMinutes * MINUTE_MS },
    ...(keyHeader === undefined ? {} : { keys: { headers: keyHeader } }),
    ...(reportOnly === undefined ? {} : { enforce: !reportOnly }),
  } satisfies Partial<HandlerOptions>;
}

const KEEP_ALIVE_VARIABLE = "STORE_ORDERS_KEEP_ALIVE_SECONDS";
const MAX_KEEP_ALIVE_SECONDS = 3_600;

function readLimits({ keepAliveSeconds }: ServeFlags, env: EnvironmentVariables): Partial<ConnectionLimits> {
  const text = readVariable(env, KEEP_ALIVE_VARIABLE);
  if (keepAliveSeconds === undefined && text === undefined) return {};
  const seconds = keepAliveSeconds ?? Number(/^\d+$/.exec(`${text}`));
  const hint = `Use a whole number from 1 to ${MAX_KEEP_ALIVE_SECONDS}.`;
  if (seconds < 1 || seconds > MAX_KEEP_ALIVE_SECONDS)
    throw invalidValue(KEEP_ALIVE_VARIABLE, `${text}`, hint);
  return { keepAliveTimeoutMs: seconds * 1_000 };
}

function readPlatformHost(text: string): string {
  const name = bareHost(isIPv6(text) ? `[${text}]` : text);
  if (name === "" || /:\d*$/.test(text.replace(/^\[?[0-9a-f:.]+\]?$/i, "")))
    return invalid("Write a name or an IP address without a port, such as orders-api or 10.0.0.5.");
  return name;
}

async function startMetrics(
  address: ListenAddress | undefined,
  measured: MetricsOptions,
  hosts: (() => HostTable) | undefined,
) {
  if (address === undefined) return undefined;
  const { createMetrics, startMetricsServer } = await import("../../metrics/index.ts");
  const metrics = createMetrics(measured);
  const isCustomHost = (host: string) => hosts?.().customHosts.has(bareHost(host)) === true;
  const start = () => startMetricsServer({ metrics, isCustomHost, ...address });
  const { url, close } = await listenOn(address, "--metrics", start);
  return { ...metrics, url, [Symbol.asyncDispose]: close };
}

async function readWebhook({ webhook: url, webhookSecretFile: file }: ServeFlags) {
  if (url === undefined && file === undefined) return undefined;
  if (url === undefined)
    throw invalidInput("--webhook-secret-file", "Add --webhook with the address of the receiver.");
  if (file === undefined)
    throw invalidInput("--webhook", "Add --webhook-secret-file with a file that contains the secret.");
  const read = readTextFile(file);
  if (!read.ok) throw invalidInput("--webhook-secret-file", read.message);
  const { webhook } = await import("../../webhooks/index.ts");
  try {
    return webhook({ url, secret: read.text.split(/\s+/).filter((secret) => secret !== "") });
  } catch (error) {
    throw nameFlags(error, { url: "--webhook", secret: "--webhook-secret-file" });
  }
}

/** Throws if changes would not be recorded until somebody corrects that. Anything else is left to the delivery. */
async function switchOutboxOn({ outbox }: Store): Promise<void> {
  await outbox?.switch(true).catch((error: unknown) => {
    if (isStoreUnavailable(error) && !error.retryable) throw invalidInput("--webhook", errorMessage(error));
  });
}

type StartFact = "url" | "docs" | "database" | "metrics" | "domains" | "key";

function formatStartMessage(facts: Readonly<Record<StartFact, string | null | undefined>>): string {
  const { url, docs, database, metrics, domains, key } = facts;
  const lines = [
    `Store Orders   ${url}`,
    `docs           ${docs ?? "not shown: npm install swagger-ui-dist"}`,
    `database       ${database}`,
  ];
  if (metrics) lines.push(`metrics        ${metrics}`);
  const check = "check with: store-orders domains check";
  if (domains) lines.push(`domains        ${check} ${domains} --address ADDRESS_OF_THIS_MACHINE`);
  if (key) {
    lines.push(`key            ${key}            shown once`);
    lines.push(`try            curl --compressed -H 'Authorization: Bearer ${key}' ${url}/store/orders`);
  }
  return `${lines.join("\n")}\n`;
}
