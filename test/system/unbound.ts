import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../support/free-port.ts";

/** The zones that an unbound server resolves, and what it answers by itself. */
export interface UnboundOptions {
  /** By zone: the address and port of its name server, as `127.0.0.11@5300`. */
  readonly zones: Readonly<Record<string, string>>;
  /** Records that it answers instead of asking, as in a zone file: as if it remembered them. */
  readonly remembered: readonly string[];
  /** Names that it says do not exist: as if it remembered that. */
  readonly denied: readonly string[];
  /** DS records of zones whose answers have to be signed. */
  readonly trustAnchors: readonly string[];
}

/** Starts unbound (`apt-get install unbound`), a recursive resolver that validates DNSSEC. */
export async function startUnbound(
  unbound: string,
  { zones, remembered, denied, trustAnchors }: UnboundOptions,
) {
  const folder = mkdtempSync(join(tmpdir(), "store-orders-unbound-"));
  const port = await freePort();
  const lines = [
    "server:",
    `  interface: 127.0.0.1@${port}`,
    '  username: ""',
    '  chroot: ""',
    `  directory: ${JSON.stringify(folder)}`,
    `  pidfile: ${JSON.stringify(join(folder, "unbound.pid"))}`,
    "  use-syslog: no",
    "  verbosity: 1",
    "  num-threads: 1",
    "  do-not-query-localhost: no",
    '  module-config: "validator iterator"',
    ...trustAnchors.map((anchor) => `  trust-anchor: '${anchor}'`),
    ...remembered.map((record) => `  local-data: '${record}'`),
    ...denied.map((name) => `  local-zone: ${name} always_nxdomain`),
    "remote-control:",
    "  control-enable: no",
    ...Object.entries(zones).flatMap(([zone, server]) => [
      "stub-zone:",
      `  name: ${zone}`,
      `  stub-addr: ${server}`,
    ]),
  ];
  writeFileSync(join(folder, "unbound.conf"), `${lines.join("\n")}\n`);
  const server = spawn(unbound, ["-d", "-c", join(folder, "unbound.conf")], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let log = "";
  await new Promise<void>((resolve, reject) => {
    const onOutput = (chunk: Buffer) => {
      log += chunk.toString();
      if (log.includes("start of service")) resolve();
    };
    server.stdout.on("data", onOutput);
    server.stderr.on("data", onOutput);
    server.once("error", reject);
    server.once("exit", () => reject(new Error(`unbound exited immediately:\n${log}`)));
  });
  return {
    address: `127.0.0.1:${port}`,
    stop: async () => {
      if (server.exitCode === null) {
        server.kill("SIGTERM");
        await once(server, "exit");
      }
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
