import { clearLine, cursorTo } from "node:readline";
import { formatCount } from "./results.ts";
import type { Terminal } from "./terminal.ts";

/** Progress for interactive terminals. */
export interface Progress<Counts> {
  /** Shows new counts, and how much of the size is done. */
  update(counts: Counts, done: number): void;
  /** Writes a line above the progress bar. */
  log(line: string): void;
  stop(): void;
}

/**
 * Shows a bar if the size is known, otherwise counts; without an interactive terminal, nothing. `format` contains the
 * names of counts in braces, such as `{placed} placed`.
 */
export async function createProgress<Counts extends Readonly<Record<string, number>>>(
  { screen, log }: Pick<Terminal, "screen" | "log">,
  {
    format,
    size,
    initial,
  }: { readonly format: string; readonly size?: number | undefined; readonly initial: Counts },
): Promise<Progress<Counts>> {
  if (screen === undefined) return { update: () => {}, log, stop: () => {} };
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
    update: (counts, done) => bar.update(done, toText(counts)),
    log(line) {
      // Replaces the bar, which is redrawn below the line.
      cursorTo(screen, 0);
      clearLine(screen, 0);
      log(line);
    },
    stop: () => bar.stop(),
  };
}
