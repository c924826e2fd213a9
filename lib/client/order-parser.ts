import { InvalidInputError } from "../errors.ts";
import { parseInt64Json } from "../orders/int64.ts";
import { type OrderRecord, parseOrder } from "../orders/order.ts";
import { IncompleteListError, MalformedListError } from "./client-errors.ts";

/** Reads a JSON array of orders that comes in pieces, cut anywhere. */
export interface OrderParser {
  /** The orders that this piece completes. To be read to its end before the next piece. */
  push(text: string): Generator<OrderRecord, void, undefined>;
  /** Throws `IncompleteListError` unless the array was closed. */
  end(): void;
}

/** An order is far smaller; a list that never ends an element must not fill the memory. */
const MAX_ELEMENT_CHARS = 1024 * 1024;

/** Where the parser stands, and what may follow there besides white space. */
const GRAMMAR = {
  before: { "[": "first" },
  first: { "{": "element", "]": "done" },
  element: {},
  after: { ",": "next", "]": "done" },
  next: { "{": "element" },
  done: {},
} as const satisfies Record<string, Readonly<Record<string, string>>>;

type State = keyof typeof GRAMMAR;

/** Makes a parser. It holds one element at most, however long the list is. */
export function createOrderParser(): OrderParser {
  let state: State = "before";
  let count = 0;
  let buffer = "";
  let depth = 0;
  let inString = false;
  let escaped = false;

  /** The index behind the element's last character, or the text's length where it goes on. */
  function endOfElement(text: string, from: number): number {
    for (let at = from; at < text.length; at++) {
      const char = text.charCodeAt(at);
      if (escaped) escaped = false;
      else if (inString) {
        if (char === QUOTE) inString = false;
        else if (char === BACKSLASH) escaped = true;
      } else if (char === QUOTE) inString = true;
      else if (char === BRACE || char === BRACKET) depth++;
      else if ((char === CLOSING_BRACE || char === CLOSING_BRACKET) && --depth === 0) return at + 1;
    }
    return text.length;
  }

  return {
    *push(text) {
      let at = 0;
      while (at < text.length) {
        if (state === "element") {
          const end = endOfElement(text, at);
          buffer += text.slice(at, end);
          at = end;
          if (buffer.length > MAX_ELEMENT_CHARS) throw new MalformedListError(`Order ${count} has no end.`);
          if (depth > 0) return;
          state = "after";
          const order = toOrder(buffer, count);
          buffer = "";
          yield order;
          continue;
        }
        const char = text.charAt(at);
        if (!WHITE_SPACE.includes(char)) {
          const next: State | undefined = (GRAMMAR[state] as Readonly<Record<string, State>>)[char];
          if (next === undefined) throw new MalformedListError(`This is no list, from order ${count} on.`);
          state = next;
          // The brace is read again, as the element's first character.
          if (next === "element") count++;
          if (next === "element") continue;
        }
        at++;
      }
    },

    end() {
      if (state !== "done") throw new IncompleteListError(`The list broke off behind order ${count}.`);
    },
  };
}

const WHITE_SPACE = " \t\r\n";
const [QUOTE, BACKSLASH, BRACE, BRACKET, CLOSING_BRACE, CLOSING_BRACKET] = [34, 92, 123, 91, 125, 93];

const FIELDS = ["id", "petId", "quantity", "shipDate", "complete"] as const;

function toOrder(text: string, count: number): OrderRecord {
  let value: unknown;
  try {
    value = parseInt64Json(text);
  } catch (cause) {
    throw new MalformedListError(`Order ${count} is not JSON.`, { cause });
  }
  let parsed = parseOrder(value);
  if ("issues" in parsed) parsed = parseOrder(knownFieldsOf(value as object));
  if ("order" in parsed) return parsed.order.record;
  const cause = new InvalidInputError(parsed.issues);
  throw new MalformedListError(`Order ${count} is none: ${cause.message}`, { cause });
}

/** A later version may send more fields than this one knows; they are left out. */
function knownFieldsOf(value: object): object {
  return Object.fromEntries(Object.entries(value).filter(([name]) => FIELDS.some((field) => field === name)));
}
