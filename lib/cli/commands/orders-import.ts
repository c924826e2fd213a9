import { type FileHandle, open, stat } from "node:fs/promises";
import { setFlagsFromString } from "node:v8";
import type { Command } from "commander";
import { InvalidInputError } from "../../errors.ts";
import { type ImportStep, importOrders, type RejectedLine } from "../../orders/import.ts";
import { splitLines } from "../../orders/lines.ts";
import { type CommandContext, withNewStore } from "../context.ts";
import { EXIT } from "../exit-status.ts";
import { createProgress } from "../progress.ts";
import { printResult } from "../results.ts";

/** `orders import`: any number of orders, in bounded memory. */
export function addImportCommand(parent: Command, context: CommandContext): void {
  parent
    .command("import")
    .description("Place the orders of newline-delimited JSON: the five fields and `status`, default pending.")
    .argument("<file>", "the file, or - for standard input")
    .option("--rejects <file>", "write the rejected lines to this file, as they came")
    .addHelpText("after", HELP)
    .action(async (file: string, flags: { rejects?: string }, command: Command) => {
      await using source = await openSource(file, context);
      await withNewStore(context, command, async ({ store }) => {
        await using rejects = await openRejects(flags.rejects, source.identity);
        // Of a stream of short-lived lines V8 keeps ever more young memory, up to 100 MB, and gains nothing by it.
        setFlagsFromString("--semi-space-growth-factor=1");

        const progress = createProgress(context.terminal, source.size);
        let last: ImportStep = { line: 0, placed: 0, unchanged: 0, rejected: 0, rejects: [] };
        try {
          for await (const step of importOrders(splitLines(source.chunks), store.orders)) {
            last = step;
            for (const { number, reason } of step.rejects) {
              if (reason !== undefined) progress.tell(`line ${number}: ${reason}`);
            }
            await rejects.write(step.rejects);
            progress.show(step, source.read());
          }
        } catch (error) {
          progress.stop();
          context.terminal.tell(
            `Stopped after line ${last.line}. Mend the cause and import again: what is in place stays as it is.`,
          );
          throw error;
        }
        progress.stop();
        const { placed, unchanged, rejected } = last;
        await printResult(context, command, { placed, unchanged, rejected });
        return rejected > 0 ? EXIT.failed : EXIT.done;
      });
    });
}

const HELP = `
A line that is no order, or whose order exists with other content, is named by its number and does not stop the
others; the exit status is then 1. Importing the same file again changes nothing.

Examples:
  $ store-orders orders import orders.ndjson --rejects rejects.ndjson
  $ gunzip -c orders.ndjson.gz | store-orders orders import -`;

interface Source extends AsyncDisposable {
  readonly chunks: AsyncIterable<Uint8Array>;
  /** Bytes read so far. */
  read(): number;
  /** Bytes in all, where that can be known. */
  readonly size?: number;
  /** Tells one file from another. */
  readonly identity?: string;
}

async function openSource(file: string, { terminal }: CommandContext): Promise<Source> {
  let bytes = 0;
  async function* counted(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      bytes += chunk.length;
      yield chunk;
    }
  }
  const read = () => bytes;
  if (file === "-") return { chunks: counted(terminal.input), read, [Symbol.asyncDispose]: async () => {} };

  const handle = await opened(file, "r");
  const facts = await handle.stat();
  if (facts.isDirectory()) {
    await handle.close();
    throw new InvalidInputError([{ path: file, message: "This is a folder; give a file." }]);
  }
  return {
    chunks: counted(handle.createReadStream({ autoClose: false })),
    read,
    ...(facts.isFile() ? { size: facts.size } : {}),
    identity: `${facts.dev}:${facts.ino}`,
    [Symbol.asyncDispose]: () => handle.close(),
  };
}

interface Rejects extends AsyncDisposable {
  write(lines: readonly RejectedLine[]): Promise<void>;
}

async function openRejects(file: string | undefined, source: string | undefined): Promise<Rejects> {
  if (file === undefined) return { write: async () => {}, [Symbol.asyncDispose]: async () => {} };
  const there = await stat(file).catch(() => undefined);
  if (there !== undefined && `${there.dev}:${there.ino}` === source) {
    throw new InvalidInputError([
      { path: "--rejects", message: "This is the file to import; give another." },
    ]);
  }
  const handle = await opened(file, "w");
  return {
    async write(lines) {
      if (lines.length === 0) return;
      const parts = lines.flatMap(({ content, complete }) => [
        typeof content === "string" ? Buffer.from(content) : content,
        Buffer.from(complete ? "\n" : ""),
      ]);
      await handle.appendFile(Buffer.concat(parts));
    },
    [Symbol.asyncDispose]: () => handle.close(),
  };
}

async function opened(file: string, flags: "r" | "w"): Promise<FileHandle> {
  try {
    return await open(file, flags);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? `${error.code}` : "unknown";
    const verb = flags === "r" ? "read" : "written";
    throw new InvalidInputError([{ path: file, message: `The file cannot be ${verb} (${code}).` }]);
  }
}
