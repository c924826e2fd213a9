/**
 * Measures how the cost of a request grows with the data. Each run compares one size with the least one, in turns:
 *
 *     node test/bench/growth.ts prepare orders 10000000   # optional: creates the database without measuring
 *     node test/bench/growth.ts orders 10000000           # adds the result to growth/results.json
 *     node test/bench/growth.ts accounts 100000
 *     node test/bench/growth.ts print                     # prints the tables and draws growth.svg
 *
 * The databases stay in `.data/growth`, 1.4 GB for ten million orders. Delete them afterwards.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { compareWithBase, GROWTHS } from "./growth/measure.ts";
import { drawGrowth, type Results, toTables } from "./growth/report.ts";
import { findLoadGenerator } from "./load/load.ts";
import { describeMachine } from "./machine.ts";

const RESULTS = new URL("growth/results.json", import.meta.url);
const PICTURE = new URL("growth.svg", import.meta.url);
const FOLDER = join(".data", "growth");

const words = process.argv.slice(2);
const isPreparation = words[0] === "prepare";
const [what = "", size = ""] = isPreparation ? words.slice(1) : words;
const results: Results = existsSync(RESULTS) ? JSON.parse(readFileSync(RESULTS, "utf8")) : {};

if (what === "print") {
  process.stdout.write(toTables(results));
  writeFileSync(PICTURE, drawGrowth(results));
} else if ((what === "orders" || what === "accounts") && /^[1-9]\d*$/.test(size)) {
  const growth = GROWTHS[what];
  await growth.prepare(FOLDER, Number(size));
  if (!isPreparation) {
    const machine = describeMachine(FOLDER, findLoadGenerator().name);
    const compared = await compareWithBase(growth, FOLDER, Number(size));
    const result = { ...compared, machine };
    const changed = { ...results, [what]: { ...results[what], [size]: result } };
    writeFileSync(RESULTS, `${JSON.stringify(changed, null, 2)}\n`);
    process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
  }
} else {
  process.stderr.write("Usage: node test/bench/growth.ts [prepare] orders|accounts SIZE, or print\n");
  process.exit(2);
}
