import type { Command } from "commander";
import { BASE_PATH } from "../../http/operations.ts";
import type { Plan } from "../../plans/plan-limits.ts";
import { type CommandContext, globalFlags, withStoreOrCreate } from "../context.ts";
import { DEMO_ACCOUNT, seedDemo } from "../demo.ts";
import { EXIT } from "../exit-status.ts";
import { listenOn } from "../listen.ts";
import { printResult } from "../results.ts";
import { addServeFlags, DOCS_PATH, type ServeFlags, toHandlerOptions } from "../serve-flags.ts";
import { addMetricsOption, type MetricsFlags, startMetrics } from "../serve-metrics.ts";
import { addLogOptions, createServiceLog, type LogFlags, type ServiceLog } from "../service-log.ts";
import { readEnvironment, readListenAddress, readPlan } from "../settings.ts";
import { explainNotSeeded, formatNextSteps, formatStartMessage } from "../start-message.ts";

/** `serve`: the API over HTTP, until a signal stops it. */
export function addServeCommand(parent: Command, context: CommandContext): void {
  addMetricsOption(addLogOptions(addServeFlags(parent.command("serve"))))
    .description(
      "Serves the API. SIGTERM, SIGINT and SIGHUP drain in-flight requests (10 s), then exit with 0.",
    )
    .addHelpText("after", HELP)
    .action(async (flags: ServeFlags & LogFlags & MetricsFlags, command: Command) => {
      const { env, terminal, clock } = context;
      const { trustProxy = false, demo = false, basePath = "" } = flags;
      const address = readListenAddress(flags, env);
      const environment = readEnvironment(env);
      // Loaded here, so that other commands start without the server's modules.
      const { createHandler } = await import("../../http/handler.ts");
      const { docsPage } = await import("../../node/docs/docs-page.ts");
      const { startNodeServer } = await import("../../node/server.ts");
      const storeFlags = globalFlags(command);
      const log = createServiceLog(terminal, flags, { json: storeFlags.json, clock });
      // Before the database is created: invalid domains must leave nothing behind.
      const domainsFile = flags.domains ?? env["STORE_ORDERS_DOMAINS"];
      const hosts = await loadHosts(domainsFile, readPlan(flags, env), address.host, log);
      await withStoreOrCreate(context, command, async ({ store, name, check }) => {
        const stop = context.waitForStop();
        // No address is printed for a server that cannot serve.
        await check();
        await using metrics = await startMetrics(flags, { store, ...log });
        const handler = createHandler({
          store: metrics.store,
          clock,
          documents: docsPage(),
          ...toHandlerOptions(flags),
          ...(hosts === undefined ? {} : { hosts }),
          ...(metrics.onRequest === undefined ? {} : { onRequest: metrics.onRequest }),
        });
        const server = await listenOn(address, { host: "--host", port: "--port or PORT" }, () =>
          startNodeServer({ handler, ...address, trustProxy }),
        );
        try {
          // Seed only while the server is listening, so that the key is always shown.
          const key = demo ? await seedDemo(store, environment, clock) : undefined;
          const root = `${server.url}${basePath}`;
          const [url, docs] = [`${root}${BASE_PATH}`, `${root}${DOCS_PATH}`];
          const result = { url, docs, database: name, metrics: metrics.url, key: key ?? null };
          if (storeFlags.json) await printResult(context, command, result);
          else {
            const nextSteps = terminal.isInteractive ? formatNextSteps(result, storeFlags) : "";
            await terminal.print(formatStartMessage(result) + nextSteps);
          }
          if (demo && key === undefined) {
            const account = await store.accounts.find(DEMO_ACCOUNT);
            log.write("warn", explainNotSeeded(account !== undefined, storeFlags));
          }
          log.write("info", `Stopping because of ${await stop}; requests in flight are completed.`);
        } finally {
          await server.close();
        }
        log.write("info", "Stopped.");
        return EXIT.success;
      });
    });
}

const HELP = `
Examples:
  $ store-orders serve
  $ store-orders serve --demo --database demo.db
  $ store-orders serve --host 0.0.0.0 --port 9000 --trust-proxy
  $ store-orders serve --domains domains.yaml --plan pro
  $ store-orders serve --metrics 9464 --log-level error
  $ store-orders serve --base-path /shop --server https://example.com/shop/v1 --cors-origin https://shop.example.com

Each request is logged on standard error: readable on a terminal, otherwise as a line of JSON.`;

/** Loads a domains file, if one is configured. The server's own names are served in addition to its hosts. */
async function loadHosts(file: string | undefined, plan: Plan, host: string, log: ServiceLog) {
  if (file === undefined || file === "") return undefined;
  const { watchDomainsFile } = await import("../domains-file.ts");
  const ownHosts = ["localhost", "127.0.0.1", "[::1]", host.includes(":") ? `[${host}]` : host];
  return watchDomainsFile(file, plan, ownHosts, (line) => log.write("warn", line));
}
