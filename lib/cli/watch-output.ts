import { clearScreenDown, cursorTo, moveCursor } from "node:readline";
import type { WriteStream } from "node:tty";
import type { Clock } from "../clock.ts";
import { toWatchChange } from "../domains/watch/change-schema.ts";
import { formatChange, formatScreen } from "../domains/watch/format.ts";
import type { WatchStep } from "../domains/watch/watch.ts";
import type { Terminal } from "./terminal.ts";

/** Shows a step of a watch: one screen that is repainted on a terminal, otherwise one line per change. */
export function createWatchOutput(
  { display, print }: Pick<Terminal, "display" | "print">,
  { clock, json }: { readonly clock: Clock; readonly json: boolean },
): (step: WatchStep) => Promise<void> {
  if (display !== undefined && !json) return createPainter(display, clock);
  return async ({ changes }) => {
    const at = clock();
    for (const change of changes) {
      await print(`${json ? JSON.stringify(toWatchChange(change, at)) : formatChange(change, at)}\n`);
    }
  };
}

const MIN_COLUMNS = 20;

function createPainter(display: WriteStream, clock: Clock): (step: WatchStep) => Promise<void> {
  let painted = 0;
  return async ({ hosts, settled }) => {
    const lines = formatScreen(hosts, clock()).trimEnd().split("\n");
    const hint = settled ? [] : ["Ctrl-C stops the watch. The same command continues it."];
    // Some terminals report a size of zero.
    const columns = Math.max(MIN_COLUMNS, display.columns || 80);
    const rows = display.rows || 24;
    const fitted = [...lines, ...hint].flatMap((line) => wrapLine(line, columns));
    // Lines that have scrolled out of the terminal cannot be repainted. The last screen stays, so it is complete.
    const hidden = settled ? 0 : Math.max(0, fitted.length - (rows - 1));
    const shown = hidden === 0 ? fitted : [...fitted.slice(0, -hidden - 1), `… ${hidden + 1} more lines`];
    moveCursor(display, 0, -painted);
    cursorTo(display, 0);
    clearScreenDown(display);
    display.write(shown.map((line) => `${line}\n`).join(""));
    painted = shown.length;
  };
}

/** Wraps a line at spaces, with the indentation of its text, so that every line takes one row of the terminal. */
export function wrapLine(line: string, columns: number): readonly string[] {
  const indentation = " ".repeat(9);
  const rows: string[] = [];
  for (let rest = line; ; ) {
    if (rest.length <= columns) return [...rows, rest];
    const space = rest.lastIndexOf(" ", columns);
    const end = space > indentation.length ? space : columns;
    rows.push(rest.slice(0, end));
    rest = indentation + rest.slice(end).trimStart();
  }
}
