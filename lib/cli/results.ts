import Table from "cli-table3";
import type { Command } from "commander";
import { toInt64Json } from "../orders/int64.ts";
import { type CommandContext, globalFlags } from "./context.ts";

/** A result: its names are the keys in JSON and, as words, the headings for people. */
export type Result = Readonly<
  Record<string, string | number | bigint | boolean | readonly string[] | null | undefined>
>;

/** Prints one result: a line for each of its values, or one JSON object. */
export async function printResult(context: CommandContext, command: Command, result: Result): Promise<void> {
  const rows = Object.entries(result).flatMap(([name, value]) =>
    value === undefined ? [] : [[heading(name), cell(value)]],
  );
  await context.terminal.print(globalFlags(command).json ? json(result) : table(rows));
}

/** Prints results: a table under headings, or one JSON array. */
export async function printResults(
  context: CommandContext,
  command: Command,
  names: readonly string[],
  results: readonly Result[],
): Promise<void> {
  const rows = results.map((result) => names.map((name) => cell(result[name])));
  const text = globalFlags(command).json ? json(results) : table([names.map(heading), ...rows]);
  await context.terminal.print(text);
}

function json(value: object): string {
  return `${toInt64Json(value)}\n`;
}

function heading(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

function cell(value: Result[string]): string {
  if (Array.isArray(value)) return value.join("; ") || "-";
  return value === null || value === undefined ? "-" : `${value}`;
}

/** Columns without borders, so that other tools can take them apart. */
function table(rows: readonly string[][]): string {
  const drawn = new Table({ chars: NO_BORDERS, style: { head: [], border: [], "padding-left": 0 } });
  drawn.push(...rows);
  return `${drawn.toString().replace(/ +$/gm, "")}\n`;
}

const NO_BORDERS = {
  ...{ top: "", "top-mid": "", "top-left": "", "top-right": "" },
  ...{ bottom: "", "bottom-mid": "", "bottom-left": "", "bottom-right": "" },
  ...{ left: "", "left-mid": "", mid: "", "mid-mid": "", right: "", "right-mid": "", middle: "  " },
};
