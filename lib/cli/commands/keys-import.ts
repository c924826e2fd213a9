import { pipeline } from "node:stream";
import { setFlagsFromString } from "node:v8";
import type { Command } from "commander";
import { parse } from "csv-parse";
import { type AccountFailure, explainAccountError } from "../../accounts/account.ts";
import { ACCOUNT_ID_RULE, createAccounts, type ImportedKey } from "../../accounts/accounts.ts";
import { isAccountId } from "../../accounts/api-key.ts";
import { createTurns } from "../../core/concurrency.ts";
import { errorMessage, invalidInput, isInvalidInput } from "../../core/errors.ts";
import { splitLines } from "../../orders/import.ts";
import { isDateTime } from "../../orders/order.ts";
import { type CommandContext, withStore } from "../context.ts";
import { EXIT } from "../errors.ts";
import { createProgress, printResult } from "../output.ts";
import { arrayToLines, type Bytes, csvFormat, readHead } from "./import-format.ts";
import { openSource } from "./orders-import.ts";

export function addKeysImport(group: Command, context: CommandContext): void {
  const { clock, flags, terminal } = context;
  group
    .command("import")
    .description("Adds keys of another system by their SHA-256, so that callers keep their keys.")
    .argument("<file>", "the file, or - for standard input: CSV, lines of JSON, or a JSON array")
    .addHelpText("after", HELP)
    .action(async (file: string) => {
      await using source = await openSource(file, context);
      await withStore(context, async ({ store }) => {
        // V8 would grow its young generation to 100 MB for this stream of short-lived rows, without a benefit.
        setFlagsFromString("--semi-space-growth-factor=1");
        const accounts = createAccounts({ store: store.accounts, clock });
        const startedAt = clock();
        const counts = { imported: 0, unchanged: 0, expired: 0, rejected: 0 };
        const format = "{imported} imported, {unchanged} unchanged, {expired} expired, {rejected} rejected";
        const progress = await createProgress(terminal, { format, size: source.size, initial: counts });
        const turns = createTurns<string>();

        async function importKey({
          account: id,
          ...key
        }: ReturnType<typeof toKey>): Promise<keyof typeof counts> {
          const account = await store.accounts.find(id);
          const before = account?.keys.find(({ hash }) => hash === key.hash);
          if (before !== undefined) {
            const isSame = before.name === key.name && before.expiresAt === key.expiresAt;
            if (before.createdAt >= startedAt && !isSame) throw invalidInput("hash", CONTRADICTION);
            return "unchanged";
          }
          if (key.expiresAt !== undefined && key.expiresAt <= clock()) return "expired";
          const result: ImportedKey | AccountFailure = await accounts.importKey(id, key);
          if (!result.ok) throw invalidInput(id, explainAccountError(result));
          return "imported";
        }

        async function importRow({ line, read }: Row): Promise<void> {
          const importing = async () => {
            const key = toKey(read());
            return turns.run(key.hash, () => importKey(key));
          };
          const outcome = await importing().catch((error: unknown) => {
            if (!isInvalidInput(error)) throw error;
            const { message } = error;
            const rejected = JSON.stringify({ code: "rejected", line, message });
            progress.log(flags.json ? rejected : `line ${line}: ${message}`);
            return "rejected" as const;
          });
          counts[outcome] += 1;
          await terminal.drainLog();
          progress.update(counts, source.bytesRead());
        }

        const rows = readRows(source.chunks, file);
        // What a SQLite store gets at once, it flushes at once. Elsewhere, keys of one account wait for each other.
        const parallelKeys = store.accounts.isLocal ? 64 : 8;
        const work = async () => {
          for (let next = await rows.next(); next.done !== true; next = await rows.next())
            await importRow(next.value);
        };
        try {
          // After a failure, no further row is read.
          const stop = (error: unknown) => rows.return().then(() => Promise.reject(error));
          await Promise.all(Array.from({ length: parallelKeys }, () => work().catch(stop)));
        } finally {
          progress.stop();
        }
        await printResult(context, counts);
        if (counts.rejected > 0) context.exit(EXIT.failed);
      });
    });
}

const HELP = `
The columns or fields are 'hash' (SHA-256 of the whole key, 64 hexadecimal digits), 'account', and, if you like, 'name'
and 'expires' (RFC 3339). Each account must exist. Importing the same file again changes nothing: a key that was revoked
since stays revoked, as long as the account has it: it keeps its last 20 revoked keys. A key that has expired is not
imported, only counted. A row that is not valid, or contradicts one that was imported just before, is printed with the
reason, the others are imported, and the exit status is 1.

Examples:
  $ psql -c "COPY (SELECT hash, account, name FROM api_keys) TO STDOUT CSV HEADER" | store-orders keys import -
  $ printf %s "$KEY" | sha256sum`;

const CONTRADICTION = "An earlier row has this key with another name or date of expiry.";
const COLUMNS = ["hash", "account", "name", "expires"];
/** More than the longest row. */
const MAX_ROW_CHARS = 16_384;

interface Row {
  /** The line of the file, or the number of the element of an array. */
  readonly line: number;
  /** Throws `InvalidInputError` if it cannot be read. */
  read(): Readonly<Record<string, unknown>>;
}

/** The key of a row. Throws `InvalidInputError` without repeating a value, which can be a key instead of its hash. */
function toKey(row: ReturnType<Row["read"]>) {
  const { hash, account, name, expires } = row;
  const unknown = Object.keys(row).find((column) => !COLUMNS.includes(column));
  if (Object.values(row).some((value) => `${value}`.includes("\ufffd")))
    throw invalidInput("", "It is not UTF-8.");
  if (unknown !== undefined) throw invalidInput("a column", `Name the columns ${COLUMNS.join(", ")}.`);
  if (typeof account !== "string" || !isAccountId(account)) throw invalidInput("account", ACCOUNT_ID_RULE);
  const isExpiring = expires !== undefined && expires !== null && expires !== "";
  if (isExpiring && !(typeof expires === "string" && isDateTime(expires)))
    throw invalidInput("expires", "Give an RFC 3339 date-time with an offset, such as 2027-01-01T00:00:00Z.");
  return {
    ...{ account, hash: typeof hash === "string" ? hash.toLowerCase() : "" },
    ...(isExpiring && { expiresAt: Date.parse(expires as string) }),
    ...(name !== undefined && name !== null && name !== "" && { name: name as string }),
  };
}

async function* readRows(chunks: Bytes, file: string): AsyncGenerator<Row, void, void> {
  const { head, whole } = await readHead(chunks);
  const first = head
    .toString()
    .replace(/^\ufeff/, "")
    .trimStart()[0];
  if (first !== "[" && first !== "{") return yield* readCsv(whole, head.toString(), file);
  for await (const lines of splitLines(first === "[" ? arrayToLines(whole, file) : whole))
    for (const { number: line, text } of lines)
      if (text.trim() !== "") yield { line, read: () => Object(parseJson(text)) };
}

async function* readCsv(chunks: Bytes, head: string, file: string): AsyncGenerator<Row, void, void> {
  let columns: readonly string[] | undefined;
  const parser = parse({ ...csvFormat(head), max_record_size: MAX_ROW_CHARS });
  const rows = pipeline(inPieces(chunks), parser, () => {});
  try {
    for await (const { record, info } of rows as AsyncIterable<CsvRecord>) {
      if (columns === undefined) columns = readColumns(record, file);
      else yield { line: info.lines, read: () => toFields(columns ?? [], record) };
    }
  } catch (error) {
    if (isInvalidInput(error)) throw error;
    // The rest of the message can repeat what the file has.
    const [reason = ""] = errorMessage(error).split(/[:.]/);
    throw invalidInput(file, `Line ${Object(error).lines} cannot be read: ${reason}.`);
  }
  if (columns === undefined) readColumns([], file);
}

/** The parser keeps all rows of a piece at once, each with a record about itself. */
async function* inPieces(chunks: Bytes): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks)
    for (let at = 0; at < chunk.length; at += PIECE_BYTES) yield chunk.subarray(at, at + PIECE_BYTES);
}

const PIECE_BYTES = 2_048;

type CsvRecord = { readonly record: readonly string[]; readonly info: { readonly lines: number } };

function readColumns(columns: readonly string[], file: string): readonly string[] {
  const isHead = ["hash", "account"].every((column) => columns.includes(column));
  if (isHead && new Set(columns).size === columns.length) return columns;
  const example = `${COLUMNS.join(",")}. Semicolons and tabs separate as well.`;
  throw invalidInput(file, `The first line of CSV names its columns, each once: ${example}`);
}

function toFields(columns: readonly string[], record: readonly string[]) {
  if (record.length > columns.length) throw invalidInput("", "It has more columns than the first line.");
  return Object.fromEntries(record.map((value, index) => [columns[index], value]));
}

function parseJson(text: string): unknown {
  if (text.length > MAX_ROW_CHARS) throw invalidInput("", `It is longer than ${MAX_ROW_CHARS} characters.`);
  try {
    return JSON.parse(text);
  } catch {
    throw invalidInput("", "This is not valid JSON.");
  }
}
