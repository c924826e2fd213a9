import { constants, fstatSync, type Stats } from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";
import { addAbortSignal, type Readable } from "node:stream";
import { setFlagsFromString } from "node:v8";
import { type Command, Option } from "commander";
import { errorMessage, invalidInput } from "../../core/errors.ts";
import { explainFileError, systemErrorCode } from "../../files/read.ts";
import { importOrders, type RejectedLine, splitLines } from "../../orders/import.ts";
import { LIFECYCLE, type OrderStatus } from "../../orders/lifecycle.ts";
import type { OrderStore } from "../../orders/order-store.ts";
import { readOutputFile } from "../arguments.ts";
import { type CommandContext, stopSignal, withStoreOrCreate } from "../context.ts";
import { EXIT } from "../errors.ts";
import { createProgress, printResult } from "../output.ts";
import { chooseStore, STORES, type StoreChoice, type StoreKind } from "../stores.ts";
import { readFormat } from "./import-format.ts";

export function addImportCommand(parent: Command, context: CommandContext): void {
  parent
    .command("import")
    .description("Imports orders from lines of JSON or a JSON array, also with gzip.")
    .argument("<file>", "the file, or - for standard input")
    .option("--rejects <file>", "write rejected lines to this file", readOutputFile)
    .addOption(new Option("--status <status>", STATUS_HELP).choices(LIFECYCLE.statuses))
    .addHelpText("after", HELP)
    .action(async (file: string, options: { rejects?: string; status?: OrderStatus }) => {
      const { env, flags, terminal } = context;
      await using source = await openSource(file, context);
      await withStoreOrCreate(context, async ({ store }) => {
        await using rejects = await openRejects(options.rejects, source, chooseStore(flags, env));
        // V8 would grow its young generation to 100 MB for this stream of short-lived lines, without a benefit.
        setFlagsFromString("--semi-space-growth-factor=1");

        let line = 0;
        let counts = { placed: 0, unchanged: 0, rejected: 0 };
        const format = "{placed} placed, {unchanged} unchanged, {rejected} rejected";
        const progress = await createProgress(terminal, { format, size: source.size, initial: counts });
        const reportStop = (hint: string) => {
          progress.stop();
          const message = `The import stopped after line ${line}. ${hint}; orders that were imported are skipped.`;
          terminal.log(flags.json ? JSON.stringify({ code: "stopped", line, message }) : message);
        };
        const stop = stopSignal(context);
        addAbortSignal(stop, source.chunks);
        try {
          const place: OrderStore["place"] = (orders) =>
            store.orders.place(orders, context.clock(), { by: "orders import" });
          const lines = splitLines(readFormat(source.chunks, file));
          const steps = importOrders(lines, { place }, options.status);
          for await (const { rejects: rejectedLines, ...totals } of steps) {
            ({ line, ...counts } = totals);
            for (const { number, reason: message } of rejectedLines) {
              const rejected = JSON.stringify({ code: "rejected", line: number, message });
              progress.log(flags.json ? rejected : `line ${number}: ${message}`);
            }
            await rejects?.write(rejectedLines);
            await terminal.drainLog();
            progress.update(counts, source.bytesRead());
          }
        } catch (error) {
          if (stop.aborted) {
            reportStop("To continue, import the same file again");
            return context.exit(EXIT.failed);
          }
          reportStop("Fix the cause, then import the same file again");
          const isDamaged = systemErrorCode(error).startsWith("Z_");
          throw isDamaged ? invalidInput(file, `It cannot be unpacked: ${errorMessage(error)}.`) : error;
        }
        progress.stop();
        await printResult(context, counts);
        if (counts.rejected > 0) context.exit(EXIT.failed);
      });
    });
}

const STATUS_HELP = "the status of orders that have none; pending: complete ones become shipped";

const HELP = `
An order has the five fields of the API, and 'status' (default: pending).
A line that is not a valid order, or whose order already exists with different content, is rejected: its number and the
reason are printed, the other lines are imported, and the exit status is 1. Importing the same file again changes
nothing.`;

interface Source extends AsyncDisposable {
  readonly chunks: Readable;
  bytesRead(): number;
  readonly size?: number;
  readonly identity: string | undefined;
}

export async function openSource(file: string, { terminal: { input } }: CommandContext): Promise<Source> {
  if (file === "-") {
    const identity = "fd" in input ? identityOf(fstatSync(Number(input.fd))) : undefined;
    return { chunks: input, bytesRead: () => 0, identity, [Symbol.asyncDispose]: async () => {} };
  }
  const handle = await openFile(file, "r");
  const stats = await handle.stat();
  if (stats.isDirectory()) {
    await handle.close();
    throw invalidInput(file, "This is a directory; name a file.");
  }
  const stream = handle.createReadStream({ autoClose: false });
  return {
    chunks: stream,
    bytesRead: () => stream.bytesRead,
    ...(stats.isFile() ? { size: stats.size } : {}),
    identity: identityOf(stats),
    async [Symbol.asyncDispose]() {
      // An import that was stopped has not read the stream to its end, and the handle waits for it.
      stream.destroy();
      await handle.close();
    },
  };
}

function identityOf(stats: Stats | undefined): string | undefined {
  return stats?.isFile() ? `${stats.dev}:${stats.ino}` : undefined;
}

const identityAt = (path: string) => stat(path).then(identityOf, () => undefined);

async function openRejects(file: string | undefined, source: Source, { kind, location }: StoreChoice) {
  if (file === undefined) return undefined;
  const { filesOf }: StoreKind = STORES[kind];
  const database = await Promise.all((filesOf?.(location) ?? []).map(identityAt));
  const existing = await identityAt(file);
  if (existing !== undefined && [source.identity, ...database].includes(existing)) {
    const inUse = existing === source.identity ? "the file to import" : "the database";
    throw invalidInput("--rejects", `This is ${inUse}; name a different one.`);
  }
  const handle = await openFile(file, WRITE);
  const stats = await handle.stat();
  // A file that existed before becomes private too, but not a device, a pipe, or the file of another user.
  if (stats.isFile() && (stats.mode & 0o077) !== 0) await handle.chmod(PRIVATE_FILE_MODE).catch(() => {});
  return {
    async write(lines: readonly RejectedLine[]): Promise<void> {
      if (lines.length === 0) return;
      await handle.appendFile(lines.map(({ content }) => `${content}\n`).join(""));
    },
    [Symbol.asyncDispose]: () => handle.close(),
  };
}

/** Rejected lines are customers' data, which other users must not read. */
const PRIVATE_FILE_MODE = 0o600;

/** A link is not followed: what it leads to could be another user's choice. */
const WRITE = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | (constants.O_NOFOLLOW ?? 0);

async function openFile(file: string, flags: "r" | typeof WRITE): Promise<FileHandle> {
  try {
    return await open(file, flags, PRIVATE_FILE_MODE);
  } catch (error) {
    throw invalidInput(file, explainFileError(error, flags === "r" ? "read" : "written"));
  }
}
