import { abortable } from "../core/concurrency.ts";
import { InvalidInputError } from "../core/errors.ts";
import { parseInt64Json } from "../orders/int64.ts";
import { ORDER_FIELDS, type OrderRecord } from "../orders/order.ts";
import { parseFields } from "../orders/wire.ts";
import { IncompleteListError, MalformedListError } from "./client-errors.ts";
import { cancelBody, type OpenedBody } from "./response.ts";
import { startTimeLimit } from "./time-limit.ts";

/** Yields the orders of a body. Throws `IncompleteListError`, `MalformedListError`, or `TimeoutError` if it stalls. */
export async function* parseOrders(
  { firstChunk, reader }: OpenedBody,
  { idleTimeoutMs, signal }: { idleTimeoutMs: number; signal: AbortSignal },
): AsyncGenerator<OrderRecord, void, undefined> {
  const parser = createOrderParser();
  const decoder = new TextDecoder("utf-8", { fatal: true });

  /** Restarted at each order, not at each chunk, so that chunks without an order cannot extend it. */
  let idle: ReturnType<typeof startTimeLimit> | undefined;

  async function readChunk(): Promise<Uint8Array | undefined> {
    idle ??= startTimeLimit("idle", idleTimeoutMs, signal);
    try {
      return (await abortable(reader.read(), idle.signal)).value;
    } catch (cause) {
      idle.signal.throwIfAborted();
      throw new IncompleteListError("The connection failed before the end of the list.", { cause });
    }
  }

  function decode(chunk: Uint8Array): string {
    try {
      return decoder.decode(chunk, { stream: true });
    } catch (cause) {
      throw new MalformedListError("The list is not valid UTF-8.", { cause });
    }
  }

  try {
    for (let chunk = firstChunk; chunk !== undefined; chunk = await readChunk()) {
      for (const order of parser.push(decode(chunk))) {
        idle?.release();
        idle = undefined;
        yield order;
        signal.throwIfAborted();
      }
    }
    parser.end();
  } finally {
    idle?.release();
    cancelBody(reader);
  }
}

/** Far above the size of any order. It bounds the memory if an element never ends. */
const MAX_ELEMENT_CHARS = 1024 * 1024;

/** For each state, the characters that may follow (besides white space) and the next state. */
const GRAMMAR = {
  before: { "[": "first" },
  first: { "{": "element", "]": "done" },
  element: {},
  after: { ",": "next", "]": "done" },
  next: { "{": "element" },
  done: {},
} as const satisfies Record<string, Readonly<Record<string, string>>>;

type State = keyof typeof GRAMMAR;

/** Parses a JSON array from chunks that are split anywhere. It buffers at most one element, however long the list is. */
function createOrderParser() {
  let state: State = "before";
  let count = 0;
  let buffer = "";
  let depth = 0;
  let inString = false;
  let escaped = false;

  /** Returns the index after the element's last character, or the chunk's length if the element continues. */
  function endOfElement(chunk: string, from: number): number {
    for (let at = from; at < chunk.length; at++) {
      const char = chunk.charCodeAt(at);
      if (escaped) escaped = false;
      else if (inString) {
        if (char === QUOTE) inString = false;
        else if (char === BACKSLASH) escaped = true;
      } else if (char === QUOTE) inString = true;
      else if (char === BRACE || char === BRACKET) depth++;
      else if ((char === CLOSING_BRACE || char === CLOSING_BRACKET) && --depth === 0) return at + 1;
    }
    return chunk.length;
  }

  return {
    /** Yields the orders that this chunk completes. Read it to its end before pushing the next chunk. */
    *push(chunk: string): Generator<OrderRecord, void, undefined> {
      let at = 0;
      while (at < chunk.length) {
        if (state === "element") {
          const end = endOfElement(chunk, at);
          buffer += chunk.slice(at, end);
          at = end;
          if (buffer.length > MAX_ELEMENT_CHARS) throw new MalformedListError(`Order ${count} is too long.`);
          if (depth > 0) return;
          state = "after";
          const order = readOrder(parseJson(buffer, count), count);
          buffer = "";
          yield order;
          continue;
        }
        const char = chunk.charAt(at);
        if (!WHITE_SPACE.includes(char)) {
          const next: State | undefined = (GRAMMAR[state] as Readonly<Record<string, State>>)[char];
          if (next === undefined && state === "before") throw foreignResponse("a JSON array");
          if (next === undefined) throw new MalformedListError(`Unexpected character after order ${count}.`);
          state = next;
          if (next === "element") {
            // Without advancing: the brace is the element's first character.
            count++;
            continue;
          }
        }
        at++;
      }
    },

    end(): void {
      const read = state === "element" ? count - 1 : count;
      if (state !== "done") throw new IncompleteListError(`The list ended early, after order ${read}.`);
    },
  };
}

function foreignResponse(expected: string): MalformedListError {
  const message = `The response is not ${expected}. A proxy probably sent it instead of the service.`;
  return new MalformedListError(message);
}

const WHITE_SPACE = " \t\r\n";
const [QUOTE, BACKSLASH, BRACE, BRACKET, CLOSING_BRACE, CLOSING_BRACKET] = [34, 92, 123, 91, 125, 93];

function parseJson(text: string, count?: number): unknown {
  try {
    return parseInt64Json(text);
  } catch (cause) {
    const what = count === undefined ? "The page" : `Order ${count}`;
    throw new MalformedListError(`${what} is not valid JSON.`, { cause });
  }
}

/** A page of orders. */
export interface OrdersPage {
  /** There can be fewer than the limit, even none, although another page follows. */
  readonly orders: readonly OrderRecord[];
  /** The `cursor` of the next page. Missing on the last one. */
  readonly next?: string;
  /** The identifiers of the orders of this page that the service cannot read. Missing if there is none. */
  readonly damaged?: readonly bigint[];
}

export function parsePage(text: string): OrdersPage {
  const { orders, next, damaged } = Object(parseJson(text));
  if (![orders, damaged ?? []].every(Array.isArray) || (next !== undefined && typeof next !== "string"))
    throw foreignResponse("a page");
  const records = orders.map((order: unknown, index: number) => readOrder(order, index + 1));
  const ids = damaged?.map((id: unknown, index: number) => readOrder({ id }, records.length + index + 1).id);
  return { orders: records, ...(next === undefined ? {} : { next }), ...(ids && { damaged: ids }) };
}

function readOrder(value: unknown, count: number): OrderRecord {
  const strict = parseFields(value);
  if (strict.ok) return strict.order.record;
  // A ship date that an earlier version accepted is only text to this client; it must not fail the list.
  const { shipDate, ...rest } = pickKnownFields(Object(value));
  const isText = typeof shipDate === "string";
  const parsed = parseFields(isText ? rest : { ...rest, shipDate });
  if (parsed.ok) return isText ? { ...parsed.order.record, shipDate } : parsed.order.record;
  const cause = new InvalidInputError(parsed.issues);
  throw new MalformedListError(`Order ${count} is invalid: ${cause.message}`, { cause });
}

/** A later version of the service may add fields; this client ignores them. */
function pickKnownFields(value: object): { readonly shipDate?: unknown } {
  return Object.fromEntries(Object.entries(value).filter(([name]) => Object.hasOwn(ORDER_FIELDS, name)));
}
