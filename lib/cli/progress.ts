import { clearLine, cursorTo } from "node:readline";
import cliProgress from "cli-progress";
import type { ImportCounts } from "../orders/import.ts";
import type { Terminal } from "./terminal.ts";

/** Import progress for interactive terminals. */
export interface Progress {
  update(counts: ImportCounts, bytes: number): void;
  /** Writes a line above the progress bar. */
  log(line: string): void;
  stop(): void;
}

/** Shows a bar if the size is known, otherwise counts; without an interactive terminal, nothing. */
export function createProgress({ screen, log }: Terminal, size: number | undefined): Progress {
  if (screen === undefined) return { update: () => {}, log, stop: () => {} };
  const counts = "{placed} placed, {unchanged} unchanged, {rejected} rejected";
  const format = size === undefined ? counts : `{bar} {percentage}% | ${counts} | {eta_formatted} left`;
  const bar = new cliProgress.SingleBar({
    format,
    stream: screen,
    // `false` would change the terminal's wrap mode, which Ctrl-C could not restore. Long lines are truncated instead.
    linewrap: true,
    forceRedraw: true,
    etaBuffer: 100,
    barsize: 24,
    barCompleteChar: "█",
    barIncompleteChar: "░",
  });
  bar.start(size ?? 0, 0, { placed: 0, unchanged: 0, rejected: 0 });
  return {
    update: ({ placed, unchanged, rejected }, bytes) => bar.update(bytes, { placed, unchanged, rejected }),
    log(line) {
      // Replaces the bar, which is redrawn below the line.
      cursorTo(screen, 0);
      clearLine(screen, 0);
      log(line);
    },
    stop: () => bar.stop(),
  };
}
