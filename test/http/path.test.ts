import { expect, test } from "vitest";
import { decodeUnreserved } from "../../lib/http/path.ts";

test("an escape of an unreserved character is decoded, in either case, and everything else stays as it is", () => {
  for (let byte = 0; byte < 256; byte++) {
    const lower = `%${byte.toString(16).padStart(2, "0")}`;
    const character = String.fromCharCode(byte);
    for (const escaped of [lower, lower.toUpperCase()])
      expect(decodeUnreserved(`/a${escaped}b`)).toBe(`/a${/[\w.~-]/.test(character) ? character : escaped}b`);
  }
  for (const path of ["/%", "/%4", "/%zz", "/%2541", "/é%C3%A9", "/\ud800%ff", "/%%"])
    expect(decodeUnreserved(path)).toBe(path);
  expect(decodeUnreserved("/%%41%2F%7E")).toBe("/%A%2F~");
});
