/** Prints the tables of infra/cost.md and infra/scale.md, and draws infra/scale.svg: `node test/infra/cost/print.ts`. */
import { writeFileSync } from "node:fs";
import { startEmulator } from "../../support/dynamodb/emulator.ts";
import { measure } from "./measure.ts";
import { compressionRatio } from "./realistic-orders.ts";
import { drawScale, scaleRows } from "./scale.ts";
import { costTables, longListCost, type Rows } from "./tables.ts";

const emulator = await startEmulator("all-old");
const measured = await measure(emulator.endpoint);
await emulator.stop();

const ratio = compressionRatio();
writeFileSync(new URL("../../../infra/scale.svg", import.meta.url), drawScale(measured, ratio));
for (const rows of [...costTables(measured), scaleRows(measured, ratio)])
  process.stdout.write(`${toMarkdown(rows)}\n`);
process.stdout.write(
  `${JSON.stringify({ ratio, metrics: measured.metrics, ...longListCost(measured, 100e6) })}\n`,
);

function toMarkdown([header = [], ...rows]: Rows): string {
  const lines = [header, header.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |\n`);
  return lines.join("").replaceAll("| --- ", "|---").replaceAll("---|", "---|");
}
