/** The part of DNS messages (RFC 1035, 4) that tells which name owns the addresses in an answer. */

/** The record types of addresses, by their numbers in a message. */
export const ADDRESS_TYPES = { A: 1, AAAA: 28 } as const;

const HEADER_BYTES = 12;
const RECURSION_DESIRED = 0x0100;
const TRUNCATED = 0x0200;
const CLASS_IN = 1;
const QUESTION_TAIL_BYTES = 4;
/** Type, class, TTL and the length of the data. */
const RECORD_HEAD_BYTES = 10;
const POINTER = 0xc0;

/** Encodes a query with one question. */
export function encodeQuery(id: number, name: string, type: keyof typeof ADDRESS_TYPES): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt16BE(id, 0);
  header.writeUInt16BE(RECURSION_DESIRED, 2);
  header.writeUInt16BE(1, 4);
  const labels = name
    .split(".")
    .flatMap((label) => [Buffer.from([label.length]), Buffer.from(label, "latin1")]);
  const tail = Buffer.alloc(1 + QUESTION_TAIL_BYTES);
  tail.writeUInt16BE(ADDRESS_TYPES[type], 1);
  tail.writeUInt16BE(CLASS_IN, 3);
  return Buffer.concat([header, ...labels, tail]);
}

/**
 * Reads the owners of the records of a type in the answer to a query, in lower case. Undefined if the message answers
 * another query or is incomplete or malformed.
 */
export function readOwners(
  message: Buffer,
  id: number,
  type: keyof typeof ADDRESS_TYPES,
): readonly string[] | undefined {
  try {
    if (message.readUInt16BE(0) !== id || (message.readUInt16BE(2) & TRUNCATED) !== 0) return undefined;
    let at = HEADER_BYTES;
    for (let questions = message.readUInt16BE(4); questions > 0; questions--) {
      at = readName(message, at).end + QUESTION_TAIL_BYTES;
    }
    const owners: string[] = [];
    for (let answers = message.readUInt16BE(6); answers > 0; answers--) {
      const { name, end } = readName(message, at);
      if (message.readUInt16BE(end) === ADDRESS_TYPES[type]) owners.push(name.toLowerCase());
      at = end + RECORD_HEAD_BYTES + message.readUInt16BE(end + RECORD_HEAD_BYTES - 2);
    }
    return owners;
  } catch {
    // A length or a pointer leads out of the message.
    return undefined;
  }
}

/** Reads a name that may end with a pointer to an earlier one. Pointers must lead backwards, so they cannot loop. */
function readName(message: Buffer, start: number): { readonly name: string; readonly end: number } {
  const labels: string[] = [];
  let at = start;
  let end: number | undefined;
  for (;;) {
    const length = message.readUInt8(at);
    if (length >= POINTER) {
      const target = message.readUInt16BE(at) & 0x3fff;
      if (target >= at) throw new RangeError("A pointer must lead backwards.");
      end ??= at + 2;
      at = target;
    } else if (length === 0) {
      return { name: labels.join("."), end: end ?? at + 1 };
    } else {
      labels.push(message.toString("latin1", at + 1, at + 1 + length));
      at += 1 + length;
    }
  }
}
