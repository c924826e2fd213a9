import { setTimeout as wait } from "node:timers/promises";
import type { Command } from "commander";
import { observeHosts } from "../../domains/watch/observe.ts";
import { startWatch } from "../../domains/watch/watch.ts";
import { createCertificateProbe } from "../../node/certificate-probe.ts";
import { type CommandContext, globalFlags } from "../context.ts";
import { createNamedResolver } from "../dns-server.ts";
import { EXIT } from "../exit-status.ts";
import { runWatch } from "../watch-loop.ts";
import { createWatchOutput } from "../watch-output.ts";
import { openWatchState } from "../watch-state.ts";
import type { WatchFlags } from "./domains.ts";
import { findAuthority, readHostsToCheck } from "./domains-actions.ts";

const INTERVAL_MS = 30_000;

/** Follows every host until it is live or needs attention. The command fails unless all are live. */
export async function watchHosts(
  context: CommandContext,
  command: Command,
  file: string | undefined,
  flags: WatchFlags,
): Promise<void> {
  const { clock, terminal, exit } = context;
  const { hosts, knownZones } = await readHostsToCheck(context, file, flags);
  const authority = findAuthority(flags);
  const resolver = createNamedResolver(flags);
  const probe = createCertificateProbe({
    resolver,
    ...(flags.tlsPort === undefined ? {} : { port: flags.tlsPort }),
  });
  const states = openWatchState(flags.state, clock());
  const start = startWatch(
    hosts.map(({ host }) => host),
    states.earlier,
    { at: clock(), reverify: flags.reverify === true },
  );

  const stop = new AbortController();
  const stopped = context.waitForStop().then(() => {
    stop.abort();
    return "stopped" as const;
  });
  const end = await runWatch(start, {
    clock,
    save: (state) => states.save(state, clock()),
    show: createWatchOutput(terminal, { clock, json: globalFlags(command).json === true }),
    stopped,
    sleep: () => wait(INTERVAL_MS, undefined, { signal: stop.signal }).catch(() => {}),
    observe: () => observeHosts(hosts, { resolver, authority, knownZones, probe }),
  });
  if (end === "stopped") terminal.log("Stopped. The same command continues the watch.");
  if (end !== "live") exit(EXIT.failed);
}
