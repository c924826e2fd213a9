import { pipeline } from "node:stream";
import { createGunzip } from "node:zlib";
import { invalidInput } from "../../core/errors.ts";

const MAX_HEAD_BYTES = 4096;

export type Bytes = AsyncIterable<Uint8Array>;

/** Returns lines of JSON, also for a JSON array and for gzip. Throws `InvalidInputError` for a file of another format. */
export async function* readFormat(chunks: Bytes, file: string): AsyncGenerator<Uint8Array> {
  let { head, whole } = await readHead(chunks);
  if (head[0] === 0x1f && head[1] === 0x8b) ({ head, whole } = await readHead(unpack(whole, file)));
  const problem = findFormatProblem(head);
  if (problem !== undefined) throw invalidInput(file, problem);
  yield* /^\ufeff?\s*\[\s*(\{|\]|$)/.test(head.toString()) ? arrayToLines(whole, file) : whole;
}

/** Node ignores what follows a zero byte after a member of gzip: an error here, unless it is zeros to the end. */
async function* unpack(chunks: Bytes, file: string): AsyncGenerator<Uint8Array> {
  const gunzip = createGunzip();
  const source = chunks[Symbol.asyncIterator]();
  let size = 0;
  /** The end of what is not zero. */
  let end = 0;
  async function* watched() {
    for (let next = await source.next(); next.done !== true; next = await source.next()) {
      const last = next.value.findLastIndex((byte) => byte !== 0);
      if (last >= 0) end = size + last + 1;
      size += next.value.length;
      yield next.value;
    }
  }
  const compressed = watched();
  yield* pipeline(compressed, gunzip, () => {}) as AsyncIterable<Uint8Array>;
  while (end <= gunzip.bytesWritten && (await compressed.next()).done !== true);
  const message = "It cannot be unpacked: after a part of it there is something that is not gzip.";
  if (end > gunzip.bytesWritten) throw invalidInput(file, message);
}

/** Reads the first line, or so much of it as tells the format. The whole still begins with it. */
export async function readHead(chunks: Bytes) {
  const source = chunks[Symbol.asyncIterator]();
  let head = Buffer.alloc(0);
  for (let isOpen = true; isOpen && head.length < MAX_HEAD_BYTES && !head.includes("\n"); ) {
    const { value, done } = await source.next();
    isOpen = done !== true;
    if (isOpen) head = Buffer.concat([head, value]);
  }
  return { head, whole: rejoin(head, source) };
}

async function* rejoin(head: Uint8Array, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield head;
  yield* { [Symbol.asyncIterator]: () => rest };
}

const ONE_PER_LINE = "Write one JSON object per line";

function findFormatProblem(head: Buffer): string | undefined {
  if (/^(\xff\xfe|\xfe\xff|.\0|\0.)/s.test(head.toString("latin1")))
    return "The file is UTF-16. Convert it: iconv -f UTF-16 -t UTF-8.";
  const [line = ""] = head.toString().split("\n");
  if (/^\ufeff?"?\w+"?([,;\t]"?\w+"?)+\r?$/.test(line) && /\bid\b/i.test(line))
    return `The file is CSV. ${ONE_PER_LINE}, such as {"id":7,"quantity":2}.`;
  if (/^\s*\{\s*$/.test(line) || /^\s*\{[^{}]*\}\s*\{/.test(line))
    return `The objects of the file are not one per line. ${ONE_PER_LINE}: jq -c . (it rounds identifiers above 2^53).`;
  return undefined;
}

const [LINE_FEED, CARRIAGE_RETURN, SPACE, COMMA] = [10, 13, 32, 44];
const [QUOTE, BACKSLASH, OPENING, CLOSING, WHITE_SPACE] = [34, 92, [91, 123], [93, 125], [9, 10, 13, 32]];

/** Writes each element of an array as a line, with the number of the element. */
export async function* arrayToLines(chunks: Bytes, file: string): AsyncGenerator<Uint8Array> {
  let [depth, isString, isEscaped, hasEnded] = [0, false, false, false];
  /** What stands before this byte in the array itself. */
  let before: "start" | "comma" | "element" = "start";
  for await (const chunk of chunks) {
    const lines = Uint8Array.from(chunk);
    for (const [at, byte] of chunk.entries()) {
      if (depth === 1 && !isString && !WHITE_SPACE.includes(byte)) {
        const isMissing = byte === COMMA ? before !== "element" : byte === CLOSING[0] && before === "comma";
        if (isMissing)
          throw invalidInput(file, "The array has a comma without an element before or after it.");
        before = byte === COMMA ? "comma" : "element";
      }
      if (isString) {
        isString = isEscaped || byte !== QUOTE;
        isEscaped = !isEscaped && byte === BACKSLASH;
      } else if (hasEnded && !WHITE_SPACE.includes(byte))
        throw invalidInput(file, "There is more after the array. Write one array, or one object per line.");
      else if (byte === QUOTE) isString = true;
      else if (OPENING.includes(byte)) {
        if (depth++ === 0) lines[at] = SPACE;
      } else if (CLOSING.includes(byte)) {
        if (--depth === 0) lines[at] = LINE_FEED;
        hasEnded = depth === 0;
      } else if (byte === COMMA && depth === 1) lines[at] = LINE_FEED;
      else if (byte === LINE_FEED || byte === CARRIAGE_RETURN) lines[at] = SPACE;
    }
    yield lines;
  }
  if (depth > 0) throw invalidInput(file, "The array has no end: the file is not complete.");
}

/** Options of csv-parse for what databases and spreadsheets write: any separator, and MySQL's words for a missing value. */
export function csvFormat(text: string) {
  const [delimiter = ","] = /[,;\t]/.exec(text.slice(0, text.indexOf("\n"))) ?? [];
  const isMissing = (value: string) => value === "\\N" || value === "NULL";
  return {
    delimiter,
    info: true,
    trim: true,
    relax_column_count: true,
    skip_empty_lines: true,
    bom: true,
    // MySQL puts no quotes around a value that has some.
    relax_quotes: delimiter === "\t",
    skip_records_with_empty_values: true,
    cast: (value: string, { quoting }: { readonly quoting: boolean }) =>
      !quoting && isMissing(value) ? "" : value,
  } as const;
}
