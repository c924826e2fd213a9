/** Prints the tables of the section "Cost" in infra/README.md: `node test/infra/cost/print.ts`. */
import { startEmulator } from "../../support/dynamodb/emulator.ts";
import { measure } from "./measure.ts";
import { consumptionRows, longListCost, millionRows, monthRows, priceRows, type Rows } from "./tables.ts";

const emulator = await startEmulator("all-old");
const measured = await measure(emulator.endpoint);
await emulator.stop();

for (const rows of [consumptionRows(measured), millionRows(measured), monthRows(measured), priceRows()]) {
  process.stdout.write(`${toMarkdown(rows)}\n`);
}
process.stdout.write(`${JSON.stringify({ metrics: measured.metrics, ...longListCost(measured, 100e6) })}\n`);

function toMarkdown([header = [], ...rows]: Rows): string {
  const lines = [header, header.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |\n`);
  return lines.join("").replaceAll("| --- ", "|---").replaceAll("---|", "---|");
}
