import { InvalidInputError } from "../errors.ts";
import { parseInt64Json } from "../orders/int64.ts";
import { type OrderRecord, parseOrder } from "../orders/order.ts";
import { MalformedListError, TornListError } from "./client-errors.ts";

/** Reads a JSON array of orders that comes in pieces, cut anywhere. */
export interface OrderParser {
  /** The orders that this piece completes. To be read to its end before the next piece. */
  push(text: string): Generator<OrderRecord, void, undefined>;
  /** Throws `TornListError` unless the array was closed. */
  end(): void;
}

/** An order is far smaller; a list that never ends an element must not fill the memory. */
const LONGEST_ELEMENT = 1024 * 1024;

/** Where the parser stands, and what may follow there besides white space. */
const GRAMMAR = {
  before: { "[": "first" },
  first: { "{": "element", "]": "done" },
  element: {},
  after: { ",": "next", "]": "done" },
  next: { "{": "element" },
  done: {},
} as const satisfies Record<string, Readonly<Record<string, string>>>;

type Place = keyof typeof GRAMMAR;

/** Makes a parser. It holds one element at most, however long the list is. */
export function createOrderParser(): OrderParser {
  let place: Place = "before";
  let count = 0;
  let carried = "";
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
        if (place === "element") {
          const end = endOfElement(text, at);
          carried += text.slice(at, end);
          at = end;
          if (carried.length > LONGEST_ELEMENT) throw new MalformedListError(`Order ${count} has no end.`);
          if (depth > 0) return;
          place = "after";
          const order = toOrder(carried, count);
          carried = "";
          yield order;
          continue;
        }
        const char = text.charAt(at);
        if (!WHITE_SPACE.includes(char)) {
          const next: Place | undefined = (GRAMMAR[place] as Readonly<Record<string, Place>>)[char];
          if (next === undefined) throw new MalformedListError(`This is no list, from order ${count} on.`);
          place = next;
          // The brace is read again, as the element's first character.
          if (next === "element") count++;
          if (next === "element") continue;
        }
        at++;
      }
    },

    end() {
      if (place !== "done") throw new TornListError(`The list broke off behind order ${count}.`);
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
