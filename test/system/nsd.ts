import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../support/free-port.ts";

export { findExecutable as findServer } from "./find-program.ts";

/** Serves zones, given by name with the content of their zone files. A zone without content fails to load. */
export async function startNsd(
  nsd: string,
  zones: Readonly<Record<string, string | undefined>>,
  { address = "127.0.0.1", port: wanted }: { readonly address?: string; readonly port?: number } = {},
) {
  const folder = mkdtempSync(join(tmpdir(), "store-orders-nsd-"));
  const port = wanted ?? (await freePort());
  const inFolder = (name: string) => JSON.stringify(join(folder, name));
  const lines = [
    "server:",
    `  ip-address: ${address}@${port}`,
    '  username: ""',
    '  chroot: ""',
    "  server-count: 1",
    // Many queries from one address are expected.
    "  rrl-ratelimit: 0",
    `  zonesdir: ${JSON.stringify(folder)}`,
    `  pidfile: ${inFolder("nsd.pid")}`,
    `  xfrdfile: ${inFolder("xfrd.state")}`,
    `  xfrdir: ${JSON.stringify(folder)}`,
    `  zonelistfile: ${inFolder("zone.list")}`,
    "remote-control:",
    "  control-enable: no",
  ];
  for (const [zone, content] of Object.entries(zones)) {
    lines.push("zone:", `  name: ${zone}`, `  zonefile: ${zone}.zone`);
    if (content !== undefined) writeFileSync(join(folder, `${zone}.zone`), content);
  }
  writeFileSync(join(folder, "nsd.conf"), `${lines.join("\n")}\n`);

  const server = spawn(nsd, ["-d", "-c", join(folder, "nsd.conf")], { stdio: ["ignore", "pipe", "pipe"] });
  let log = "";
  const started = new Promise<void>((resolve, reject) => {
    const onOutput = (chunk: Buffer) => {
      log += chunk.toString();
      if (log.includes("nsd started")) resolve();
    };
    server.stdout.on("data", onOutput);
    server.stderr.on("data", onOutput);
    server.once("error", reject);
    server.once("exit", () => reject(new Error(`nsd exited immediately:\n${log}`)));
  });
  await started;
  return {
    address: `${address}:${port}`,
    stop: async () => {
      if (server.exitCode === null) {
        server.kill("SIGTERM");
        await once(server, "exit");
      }
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
