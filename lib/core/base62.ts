export const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** Bytes from the CSPRNG, asked for together: each call takes longer than a string. One that was used is zero. */
const bytes = /* @__PURE__ */ new Uint8Array(1_024);
let used = 1_024;

/** Uniformly distributed, from a CSPRNG. */
export function randomBase62(length: number): string {
  let text = "";
  while (text.length < length) {
    if (used === bytes.length) {
      crypto.getRandomValues(bytes);
      used = 0;
    }
    const byte = bytes[used] ?? 0;
    bytes[used++] = 0;
    // 248 is the largest multiple of 62 in a byte. Larger values would favour the first characters.
    if (byte < 248) text += BASE62[byte % 62];
  }
  return text;
}
