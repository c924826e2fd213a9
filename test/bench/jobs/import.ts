import { spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { toLine } from "../../../lib/orders/wire.ts";
import { atLeastPeers } from "../budgets.ts";
import type { Figure } from "../figures.ts";
import { orderAt } from "../fixture.ts";
import type { Job } from "../job.ts";
import { distributionIn, distributionsIn, runInTurns, type Sample } from "../rounds.ts";
import { memory } from "../servers/process-cost.ts";

const BY_HAND = "by hand";

type Imported = Sample<"rate" | "peak">;

/** Importing orders with the command, including the start of the process. */
export const importOrders: Job = {
  id: "import",
  async run({ folder, quick, rounds, log }) {
    const lines = quick ? 20_000 : 500_000;
    const file = join(folder, "orders.ndjson");
    await writeLines(file, lines);
    const database = join(folder, "import.db");
    const programs: Readonly<Record<string, readonly string[]>> = {
      ours: [pathOf("../../../lib/cli/bin.ts"), "orders", "import", file, "--database", database],
      [BY_HAND]: [pathOf("../servers/import-by-hand.ts"), file, database],
    };
    const samples = await runInTurns(Object.keys(programs), Math.min(rounds, 3), async (name, round) => {
      log(`import: round ${round + 1}, ${name}`);
      for (const suffix of ["", "-wal", "-shm"]) rmSync(database + suffix, { force: true });
      return run(programs[name] ?? [], lines);
    });
    const figure = (label: string, unit: string, better: "more" | "less", name: keyof Imported): Figure => ({
      name: label,
      unit,
      better,
      ours: distributionIn(samples, "ours", name),
      peers: distributionsIn(samples, [BY_HAND], name),
    });
    const rate = figure("lines per second", "/s", "more", "rate");
    return {
      title: `Import of ${lines.toLocaleString("en-US")} orders into SQLite`,
      figures: [{ ...rate, verdict: atLeastPeers(0.6)(rate) }, figure("peak memory", "MiB", "less", "peak")],
      notes: [
        "By hand: lines, `JSON.parse`, inserts in transactions of a thousand; it validates nothing, reports no invalid line, and cannot be repeated.",
      ],
    };
  },
};

async function writeLines(file: string, lines: number): Promise<void> {
  const stream = createWriteStream(file);
  for (let index = 0; index < lines; index++) {
    if (!stream.write(`${toLine(orderAt(index))}\n`)) await once(stream, "drain");
  }
  stream.end();
  await once(stream, "finish");
}

async function run(program: readonly string[], lines: number): Promise<Imported> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, program, { stdio: ["ignore", "ignore", "pipe"] });
  let peak = NaN;
  const watch = setInterval(() => {
    peak = memory(child.pid ?? 0).peak || peak;
  }, 20);
  const errors = child.stderr.toArray();
  const [status] = await once(child, "exit");
  clearInterval(watch);
  if (status !== 0) throw new Error(`The import ended with ${status}: ${Buffer.concat(await errors)}`);
  return { rate: (lines * 1000) / (performance.now() - startedAt), peak };
}

function pathOf(file: string): string {
  return fileURLToPath(new URL(file, import.meta.url));
}
