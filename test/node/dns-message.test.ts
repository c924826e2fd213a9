import { expect, test } from "vitest";
import { encodeQuery, readOwners } from "../../lib/node/dns-message.ts";

const ID = 0x1234;
/** A response to `www.example.com A`: a CNAME, then an A record of its target, with compressed names. */
const RESPONSE = Buffer.from(
  [
    "1234 8180 0001 0002 0000 0000",
    "03777777 076578616d706c65 03636f6d 00 0001 0001",
    // c00c points to www.example.com, c010 to example.com.
    "c00c 0005 0001 0000003c 0005 02746f c010",
    "c02d 0001 0001 0000003c 0004 c0000207",
  ]
    .join("")
    .replaceAll(" ", ""),
  "hex",
);

test("a query has one question and desires recursion", () => {
  expect(encodeQuery(ID, "www.example.com", "AAAA").toString("hex")).toBe(
    "12340100000100000000000003777777076578616d706c6503636f6d00001c0001",
  );
});

test("the owners of the records of a type are read through compressed names", () => {
  expect(readOwners(RESPONSE, ID, "A")).toEqual(["to.example.com"]);
  expect(readOwners(RESPONSE, ID, "AAAA")).toEqual([]);
});

test("a response to another query, a truncated and a malformed one are not read", () => {
  expect(readOwners(RESPONSE, ID + 1, "A")).toBeUndefined();
  const truncated = Buffer.from(RESPONSE);
  truncated.writeUInt16BE(0x8380, 2);
  expect(readOwners(truncated, ID, "A")).toBeUndefined();
  const looping = Buffer.from(RESPONSE);
  looping.writeUInt16BE(0xc021, 33);
  expect(readOwners(looping, ID, "A")).toBeUndefined();
});

test("no message makes the parser fail or hang", () => {
  for (let length = 0; length < RESPONSE.length; length++) readOwners(RESPONSE.subarray(0, length), ID, "A");
  for (let at = 2; at < RESPONSE.length; at++) {
    for (const byte of [0x00, 0x3f, 0x40, 0xc0, 0xff]) {
      const changed = Buffer.from(RESPONSE);
      changed[at] = byte;
      readOwners(changed, ID, "A");
    }
  }
});
