import { setFlagsFromString } from "node:v8";
import type { Command } from "commander";
import { invalidInput } from "../../errors.ts";
import { type ImportStep, importOrders } from "../../orders/import.ts";
import { splitLines } from "../../orders/lines.ts";
import { type CommandContext, globalFlags, withStoreOrCreate } from "../context.ts";
import { EXIT } from "../exit-status.ts";
import { createProgress } from "../progress.ts";
import { databaseFiles, openFile, openRejects } from "../rejects-file.ts";
import { printResult } from "../results.ts";
import { chooseStore } from "../settings.ts";
import { untilStopped } from "../until-stopped.ts";

/** `orders import`: any number of orders in bounded memory. */
export function addImportCommand(parent: Command, context: CommandContext): void {
  parent
    .command("import")
    .description(
      "Imports orders from newline-delimited JSON: the five fields and 'status' (default: pending).",
    )
    .argument("<file>", "the file, or - for standard input")
    .option("--rejects <file>", "write rejected lines to this file, unchanged")
    .addHelpText("after", HELP)
    .action(async (file: string, flags: { rejects?: string }, command: Command) => {
      await using source = await openSource(file, context);
      await withStoreOrCreate(context, command, async ({ store }) => {
        const choice = chooseStore(globalFlags(command), context.env);
        await using rejects = await openRejects(flags.rejects, [
          { identity: source.identity, what: "the file to import" },
          ...(await databaseFiles(choice)),
        ]);
        // V8 would grow its young generation to 100 MB for this stream of short-lived lines, without a benefit.
        setFlagsFromString("--semi-space-growth-factor=1");

        let last: ImportStep = { line: 0, placed: 0, unchanged: 0, rejected: 0, rejects: [] };
        const progress = await createProgress(context.terminal, {
          format: "{placed} placed, {unchanged} unchanged, {rejected} rejected",
          size: source.size,
          initial: toCounts(last),
        });
        const { json } = globalFlags(command);
        const reportStop = (hint: string) => {
          progress.stop();
          const message = `The import stopped after line ${last.line}. ${hint}; orders that were imported are skipped.`;
          context.terminal.log(
            json ? JSON.stringify({ code: "stopped", line: last.line, message }) : message,
          );
        };
        const formatReject = (line: number, message: string) =>
          json ? JSON.stringify({ code: "rejected", line, message }) : `line ${line}: ${message}`;
        const steps = untilStopped(
          importOrders(splitLines(source.chunks), store.orders),
          context.waitForStop(),
        );
        try {
          for (;;) {
            const next = await steps.next();
            if (next.done === true) {
              if (!next.value) break;
              reportStop("To continue, import the same file again");
              return EXIT.failed;
            }
            last = next.value;
            for (const { number, reason } of last.rejects) {
              if (reason !== undefined) progress.log(formatReject(number, reason));
            }
            await rejects.write(last.rejects);
            await context.terminal.drainLog();
            progress.update(toCounts(last), source.bytesRead());
          }
        } catch (error) {
          reportStop("Fix the cause, then import the same file again");
          throw error;
        }
        progress.stop();
        const { placed, unchanged, rejected } = last;
        await printResult(context, command, { placed, unchanged, rejected });
        return rejected > 0 ? EXIT.failed : EXIT.success;
      });
    });
}

function toCounts({ placed, unchanged, rejected }: ImportStep) {
  return { placed, unchanged, rejected };
}

const HELP = `
A line that is not a valid order, or whose order already exists with different content, is rejected: its number and the
reason are printed, the other lines are imported, and the exit status is 1. Importing the same file again changes
nothing.

Examples:
  $ store-orders orders import orders.ndjson --rejects rejects.ndjson
  $ gunzip -c orders.ndjson.gz | store-orders orders import -`;

interface Source extends AsyncDisposable {
  readonly chunks: AsyncIterable<Uint8Array>;
  bytesRead(): number;
  /** Total bytes, if known. */
  readonly size?: number;
  /** Identifies the file, whatever its path. */
  readonly identity?: string;
}

async function openSource(file: string, { terminal }: CommandContext): Promise<Source> {
  let bytes = 0;
  async function* countBytes(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      bytes += chunk.length;
      yield chunk;
    }
  }
  const bytesRead = () => bytes;
  if (file === "-") {
    return { chunks: countBytes(terminal.input), bytesRead, [Symbol.asyncDispose]: async () => {} };
  }
  const handle = await openFile(file, "r");
  const stats = await handle.stat();
  if (stats.isDirectory()) {
    await handle.close();
    throw invalidInput(file, "This is a directory; name a file.");
  }
  const stream = handle.createReadStream({ autoClose: false });
  return {
    chunks: countBytes(stream),
    bytesRead,
    ...(stats.isFile() ? { size: stats.size } : {}),
    identity: `${stats.dev}:${stats.ino}`,
    async [Symbol.asyncDispose]() {
      // An import that was stopped has not read the stream to its end, and the handle waits for it.
      stream.destroy();
      await handle.close();
    },
  };
}
