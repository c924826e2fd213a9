import { execFile, spawn } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, expect, test } from "vitest";
import { freePort } from "../support/free-port.ts";
import { findProgram } from "./find-program.ts";

const exporter = findProgram("prometheus-node-exporter");
const folder = mkdtempSync(join(tmpdir(), "store-orders-exporter-"));
chmodSync(folder, 0o755);
afterAll(() => rmSync(folder, { recursive: true }));

test.skipIf(exporter === undefined)(
  "the node exporter, as another user, reads the time of the backup by a link",
  async () => {
    const [cache, read] = [join(folder, "cache"), join(folder, "exporter")];
    for (const path of [cache, read]) mkdirSync(path, { mode: 0o755 });
    const unit = readFileSync(
      new URL("../../lib/node/deploy/store-orders-backup.service", import.meta.url),
      "utf8",
    );
    const [, command = ""] = /^ExecStartPost=\/bin\/sh -c '(.*)'$/m.exec(unit) ?? [];
    const script = `umask 077; ${command.replaceAll("%%", "%").replaceAll("$$", "$")}`;
    await promisify(execFile)("/bin/sh", ["-ec", script], {
      env: { ...process.env, CACHE_DIRECTORY: cache },
    });
    symlinkSync(join(cache, "backup.prom"), join(read, "store-orders.prom"));
    const address = `127.0.0.1:${await freePort()}`;
    const flags = [
      "--collector.disable-defaults",
      "--collector.textfile",
      `--collector.textfile.directory=${read}`,
    ];
    const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
    const server = spawn(exporter ?? "", [...flags, `--web.listen-address=${address}`], {
      ...user,
      stdio: "ignore",
    });
    try {
      const metrics = () =>
        fetch(`http://${address}/metrics`).then(
          (response) => response.text(),
          () => "",
        );
      await expect.poll(metrics).toMatch(/^store_orders_backup_timestamp_seconds 1\.\d+e\+09$/m);
      expect(await metrics()).toContain("node_textfile_scrape_error 0");
    } finally {
      server.kill();
    }
  },
);
