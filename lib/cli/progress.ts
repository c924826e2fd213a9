import { clearLine, cursorTo } from "node:readline";
import cliProgress from "cli-progress";
import type { ImportCounts } from "../orders/import.ts";
import type { Terminal } from "./terminal.ts";

/** How far an import is, for a person who watches; and lines that are told meanwhile. */
export interface Progress {
  show(counts: ImportCounts, bytes: number): void;
  tell(line: string): void;
  stop(): void;
}

/** A bar where the size is known, counts where it is not, and nothing at all where nobody watches. */
export function createProgress({ screen, tell }: Terminal, size: number | undefined): Progress {
  if (screen === undefined) return { show: () => {}, tell, stop: () => {} };
  const counts = "{placed} placed, {unchanged} unchanged, {rejected} rejected";
  const format = size === undefined ? counts : `{bar} {percentage}% | ${counts} | {eta_formatted} left`;
  const bar = new cliProgress.SingleBar({
    format,
    stream: screen,
    // Cut off at the terminal's width. The terminal itself is left as it is: Ctrl-C could not put it back.
    linewrap: true,
    forceRedraw: true,
    etaBuffer: 100,
    barsize: 24,
    barCompleteChar: "█",
    barIncompleteChar: "░",
  });
  bar.start(size ?? 0, 0, { placed: 0, unchanged: 0, rejected: 0 });
  return {
    show: ({ placed, unchanged, rejected }, bytes) => bar.update(bytes, { placed, unchanged, rejected }),
    tell(line) {
      // Over the bar, which is drawn again below.
      cursorTo(screen, 0);
      clearLine(screen, 0);
      tell(line);
    },
    stop: () => bar.stop(),
  };
}
