import { clearLine, cursorTo } from "node:readline";
import Table from "cli-table3";
import { escapeControls, escapeLine, formatCount } from "../core/text.ts";
import { toInt64Json } from "../orders/int64.ts";
import type { CommandContext } from "./context.ts";
import type { Terminal } from "./terminal.ts";

/** A result to print. Its property names are the JSON keys and, split into words, the headings of the table. */
export type Result = Readonly<Record<string, Value>>;

type Value = string | number | bigint | boolean | readonly string[] | readonly object[] | null | undefined;

/** Prints a value as one line of JSON, or text for people. Resolves to `false` if the reader has gone. */
export function printEither({ flags, terminal }: CommandContext, value: object, text: () => string) {
  return terminal.print(flags.json ? `${escapeControls(toInt64Json(value))}\n` : text());
}

export function printResult(context: CommandContext, result: Result): Promise<boolean> {
  return printEither(context, result, () => formatResult(result));
}

export function printResults(context: CommandContext, names: readonly string[], results: readonly Result[]) {
  return printEither(context, results, () => formatResults(names, results));
}

export function formatResult(result: Result): string {
  const known = Object.entries(result).filter(([, value]) => value !== undefined);
  return formatTable(known.map(([name, value]) => [toHeading(name), toCell(name, value)]));
}

export function formatResults(names: readonly string[], results: readonly Result[]): string {
  const rows = results.map((result) => names.map((name) => toCell(name, result[name])));
  return formatTable([names.map(toHeading), ...rows]);
}

function toHeading(name: string): string {
  return escapeLine(name).replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

function toCell(name: string, value: Value): string {
  const isMissing = value === null || value === undefined || (Array.isArray(value) && value.length === 0);
  if (isMissing) return name === "expires" ? "never" : "-";
  // A value to type in elsewhere has no separators: an identifier, which is a bigint, and a TTL.
  if (typeof value === "number" && name !== "ttl") return formatCount(value);
  return escapeLine(Array.isArray(value) ? value.join("; ") : `${value}`);
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

type Counts = Readonly<Record<string, number>>;

/** A bar if the size is known, otherwise the counts. `format` has their names in braces, such as `{placed} placed`. */
export async function createProgress(
  { barScreen: screen, log }: Pick<Terminal, "barScreen" | "log">,
  { format, size, initial }: { format: string; size?: number | undefined; initial: Counts },
) {
  if (screen === undefined) return { update: (_counts: Counts, _done: number) => {}, log, stop: () => {} };
  // Loaded here, so that commands without a bar start sooner.
  const { default: cliProgress } = await import("cli-progress");
  const bar = new cliProgress.SingleBar({
    format: size === undefined ? format : `{bar} {percentage}% | ${format} | {eta_formatted} left`,
    stream: screen,
    // `false` would change the terminal's wrap mode, which Ctrl-C could not restore. Long lines are truncated instead.
    linewrap: true,
    forceRedraw: true,
    etaBuffer: 100,
    barsize: 24,
    barCompleteChar: "█",
    barIncompleteChar: "░",
  });
  const toText = (counts: Counts) =>
    Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, formatCount(count)]));
  bar.start(size ?? 0, 0, toText(initial));
  return {
    update: (counts: Counts, done: number) => bar.update(done, toText(counts)),
    log(line: string): void {
      // Replaces the bar, which is redrawn below the line.
      cursorTo(screen, 0);
      clearLine(screen, 0);
      log(line);
    },
    stop: () => bar.stop(),
  };
}
