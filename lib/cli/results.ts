import Table from "cli-table3";
import type { Command } from "commander";
import { toInt64Json } from "../orders/int64.ts";
import { type CommandContext, globalFlags } from "./context.ts";

/** A result to print. Its property names are the JSON keys and, split into words, the headings of the table. */
export type Result = Readonly<
  Record<string, string | number | bigint | boolean | readonly string[] | null | undefined>
>;

/** Prints one result: one line per property, or one JSON object. */
export async function printResult(context: CommandContext, command: Command, result: Result): Promise<void> {
  const rows = Object.entries(result).flatMap(([name, value]) =>
    value === undefined ? [] : [[toHeading(name), toCell(name, value)]],
  );
  await context.terminal.print(globalFlags(command).json ? toJsonText(result) : formatTable(rows));
}

/** Prints a list of results: a table with headings, or one JSON array. */
export async function printResults(
  context: CommandContext,
  command: Command,
  names: readonly string[],
  results: readonly Result[],
): Promise<void> {
  const rows = results.map((result) => names.map((name) => toCell(name, result[name])));
  const text = globalFlags(command).json ? toJsonText(results) : formatTable([names.map(toHeading), ...rows]);
  await context.terminal.print(text);
}

function toJsonText(value: object): string {
  return `${toInt64Json(value)}\n`;
}

function toHeading(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

function toCell(name: string, value: Result[string]): string {
  const isMissing = value === null || value === undefined || (Array.isArray(value) && value.length === 0);
  if (isMissing) return name === "expires" ? "never" : "-";
  return Array.isArray(value) ? value.join("; ") : `${value}`;
}

/** Columns without borders, so that tools such as awk can split them. */
function formatTable(rows: readonly string[][]): string {
  const table = new Table({ chars: NO_BORDERS, style: { head: [], border: [], "padding-left": 0 } });
  table.push(...rows);
  return `${table.toString().replace(/ +$/gm, "")}\n`;
}

const NO_BORDERS = {
  ...{ top: "", "top-mid": "", "top-left": "", "top-right": "" },
  ...{ bottom: "", "bottom-mid": "", "bottom-left": "", "bottom-right": "" },
  ...{ left: "", "left-mid": "", mid: "", "mid-mid": "", right: "", "right-mid": "", middle: "  " },
};
