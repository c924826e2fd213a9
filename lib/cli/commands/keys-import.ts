import { createReadStream } from "node:fs";
import type { Command } from "commander";
import { parse } from "csv-parse/sync";
import { type AccountFailure, explainAccountError } from "../../accounts/account.ts";
import { ACCOUNT_ID_RULE, createAccounts, type ImportedKey } from "../../accounts/accounts.ts";
import { isAccountId } from "../../accounts/api-key.ts";
import { createTurns, mapBounded } from "../../core/concurrency.ts";
import { errorMessage, invalidInput, isInvalidInput } from "../../core/errors.ts";
import { explainFileError } from "../../files/read.ts";
import { isDateTime } from "../../orders/order.ts";
import { type CommandContext, withStore } from "../context.ts";
import { EXIT } from "../errors.ts";
import { createProgress, printResult } from "../output.ts";
import { csvFormat } from "./import-format.ts";

export function addKeysImport(group: Command, context: CommandContext): void {
  const { clock, flags, terminal } = context;
  group
    .command("import")
    .description(
      "Adds keys of another system by their SHA-256, so that callers keep the keys that they have.",
    )
    .argument("<file>", "the file, or - for standard input: CSV, lines of JSON, or a JSON array")
    .addHelpText("after", HELP)
    .action(async (file: string) => {
      const rows = readRows(await readText(file, terminal.input), file);
      await withStore(context, async ({ store }) => {
        const accounts = createAccounts({ store: store.accounts, clock });
        const counts = { imported: 0, unchanged: 0, expired: 0, rejected: 0 };
        const progress = await createProgress(terminal, {
          format: "{imported} imported, {unchanged} unchanged, {expired} expired, {rejected} rejected",
          size: rows.length,
          initial: counts,
        });

        const turns = createTurns<string>();
        /** The rows whose keys were added, by hash. */
        const added = new Map<string, string>();

        /** Throws `InvalidInputError` with the reason why a key is rejected. */
        const importRow = async ({ read }: Row) => {
          const key = toKey(read());
          return turns.run(key.hash, () => importKey(key));
        };

        type Outcome = Exclude<keyof typeof counts, "rejected">;
        async function importKey(row: ReturnType<typeof toKey>): Promise<Outcome> {
          const { account: id, ...key } = row;
          const earlier = added.get(key.hash);
          if (earlier === JSON.stringify(row)) return "unchanged";
          if (earlier !== undefined) throw invalidInput("hash", CONTRADICTION);
          const before = await store.accounts.find(id);
          if (before?.keys.some(({ hash }) => hash === key.hash)) return "unchanged";
          if (key.expiresAt !== undefined && key.expiresAt <= clock()) return "expired";
          const result: ImportedKey | AccountFailure = await accounts.importKey(id, key);
          if (!result.ok) throw invalidInput(id, explainAccountError(result));
          added.set(key.hash, JSON.stringify(row));
          return "imported";
        }

        await mapBounded(rows, PARALLEL_KEYS, async (row) => {
          const outcome = await importRow(row).catch((error: unknown) => {
            if (!isInvalidInput(error)) throw error;
            const { line } = row;
            const { message } = error;
            const rejected = JSON.stringify({ code: "rejected", line, message });
            progress.log(flags.json ? rejected : `line ${line}: ${message}`);
            return "rejected" as const;
          });
          counts[outcome] += 1;
          const done = Object.values(counts).reduce((sum, count) => sum + count);
          progress.update(counts, done);
        }).finally(() => progress.stop());
        await printResult(context, counts);
        if (counts.rejected > 0) context.exit(EXIT.failed);
      });
    });
}

const HELP = `
The columns or fields are 'hash' (SHA-256 of the whole key, 64 hexadecimal digits), 'account', and, if you like, 'name'
and 'expires' (RFC 3339). Each account must exist. Importing the same file again changes nothing: a key that was revoked
since stays revoked, as long as the account has it: it keeps its last 20 inactive keys. A key that has expired is not
imported, only counted. A row that is not valid, or contradicts one that was imported just before, is printed with the
reason, the others are imported, and the exit status is 1.

Examples:
  $ psql -c "COPY (SELECT hash, account, name FROM api_keys) TO STDOUT CSV HEADER" | store-orders keys import -
  $ printf %s "$KEY" | sha256sum`;

const CONTRADICTION = "An earlier row has this key with another account, name or date of expiry.";
const COLUMNS = ["hash", "account", "name", "expires"];
const PARALLEL_KEYS = 8;
const MAX_FILE_BYTES = 64 * 1024 * 1024;

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

async function readText(file: string, input: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of file === "-" ? input : createReadStream(file)) {
      size += chunk.length;
      if (size > MAX_FILE_BYTES) break;
      chunks.push(chunk);
    }
  } catch (error) {
    throw invalidInput(file, explainFileError(error, "read"));
  }
  if (size > MAX_FILE_BYTES) throw invalidInput(file, "The file is larger than 64 MiB. Split it.");
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks));
  } catch {
    throw invalidInput(file, "The file is not UTF-8. Convert it, for example with iconv.");
  }
}

/** The rows of CSV, of lines of JSON, or of a JSON array. */
function readRows(text: string, file: string): readonly Row[] {
  const first = text.trimStart()[0];
  if (first === "[") {
    const rows: unknown[] = parseJson(text, file);
    return rows.map((row, index) => ({ line: index + 1, read: () => Object(row) }));
  }
  if (first === "{")
    return text.split("\n").flatMap((json, index) => {
      const read = () => Object(parseJson(json, ""));
      return json.trim() === "" ? [] : [{ line: index + 1, read }];
    });
  const [head, ...records] = parseCsv(text, file);
  const columns = head?.record ?? [];
  const isHead = ["hash", "account"].every((column) => columns.includes(column));
  if (!isHead || new Set(columns).size < columns.length)
    throw invalidInput(
      file,
      `The first line of CSV names its columns, each once: ${COLUMNS.join(",")}. Semicolons and tabs separate as well.`,
    );
  return records.map(({ record, info: { lines: line } }) => ({
    line,
    read() {
      if (record.length > columns.length) throw invalidInput("", "It has more columns than the first line.");
      return Object.fromEntries(record.map((value, index) => [columns[index], value]));
    },
  }));
}

function parseCsv(text: string, file: string) {
  try {
    const records: unknown = parse(text, csvFormat(text));
    return records as { record: string[]; info: { lines: number } }[];
  } catch (error) {
    // The rest of the message can repeat what the file has.
    const [reason = ""] = errorMessage(error).split(/[:.]/);
    throw invalidInput(file, `Line ${Object(error).lines} cannot be read: ${reason}.`);
  }
}

function parseJson<T>(text: string, path: string): T {
  try {
    return JSON.parse(text);
  } catch {
    throw invalidInput(path, "This is not valid JSON.");
  }
}
