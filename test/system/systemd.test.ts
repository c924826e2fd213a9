import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, expect, test } from "vitest";
import { findProgram } from "./find-program.ts";

const UNITS = ["store-orders.service", "store-orders-backup.service", "store-orders-backup.timer"];
const deploy = new URL("../../lib/node/deploy/", import.meta.url);
const analyze = findProgram("systemd-analyze", "systemd") ?? "";
const folder = mkdtempSync(join(tmpdir(), "store-orders-systemd-"));
afterAll(() => rmSync(folder, { recursive: true }));
for (const unit of UNITS) {
  // The command line is not installed here, and systemd checks that a program exists.
  const text = readFileSync(new URL(unit, deploy), "utf8").replace(
    "/usr/local/bin/store-orders",
    "/bin/true",
  );
  writeFileSync(join(folder, unit), text);
}

test.skipIf(analyze === "")("systemd accepts the units without a warning", async () => {
  const { stdout, stderr } = await promisify(execFile)(analyze, ["verify", "--man=no", ...UNITS], {
    cwd: folder,
  });
  expect(stdout + stderr).toBe("");
});

test.skipIf(analyze === "").each(UNITS.filter((unit) => unit.endsWith(".service")))(
  "systemd rates the exposure of %s as OK",
  async (unit) => {
    const args = ["security", "--offline=true", "--no-pager", "--threshold=20", `./${unit}`];
    const { stdout } = await promisify(execFile)(analyze, args, { cwd: folder });
    expect(stdout).toMatch(/Overall exposure level for \S+: [01]\.\d (?:OK|SAFE)/);
  },
);
