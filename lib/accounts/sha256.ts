/** SHA-256 (FIPS 180-4) of a short text, hexadecimal. Uses Node's implementation if there is one. */
export const sha256: (text: string) => string = nodeHash() ?? sha256InJavaScript;

/** Node's hash takes 0.2 µs, `crypto.subtle` 30 µs. It is looked up at run time, so that no bundle needs Node. */
function nodeHash(): ((text: string) => string) | undefined {
  const { process } = globalThis as { process?: { getBuiltinModule?: (id: string) => unknown } };
  const crypto = process?.getBuiltinModule?.("node:crypto") as
    | { hash?: (algorithm: string, data: string) => string }
    | undefined;
  const hash = crypto?.hash;
  return hash && ((text) => hash("sha256", text));
}

/** For runtimes without Node's crypto module. */
export function sha256InJavaScript(text: string): string {
  const bytes = new TextEncoder().encode(text);
  const blocks = new DataView(new ArrayBuffer(Math.ceil((bytes.length + 9) / 64) * 64));
  new Uint8Array(blocks.buffer).set(bytes);
  blocks.setUint8(bytes.length, 0x80);
  blocks.setBigUint64(blocks.byteLength - 8, BigInt(bytes.length) * 8n);

  const state = Uint32Array.from(fractionsOfRoots(8, Math.sqrt));
  const words = new Uint32Array(64);
  for (let offset = 0; offset < blocks.byteLength; offset += 64) {
    for (let i = 0; i < 64; i++) {
      words[i] = i < 16 ? blocks.getUint32(offset + 4 * i) : nextWord(words, i);
    }
    compress(state, words);
  }
  return [...state].map((word) => word.toString(16).padStart(8, "0")).join("");
}

function nextWord(words: Uint32Array, i: number): number {
  const [a = 0, b = 0, c = 0, d = 0] = [words[i - 16], words[i - 15], words[i - 7], words[i - 2]];
  const low = rotate(b, 7) ^ rotate(b, 18) ^ (b >>> 3);
  const high = rotate(d, 17) ^ rotate(d, 19) ^ (d >>> 10);
  return (a + low + c + high) >>> 0;
}

function compress(state: Uint32Array, words: Uint32Array): void {
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state;
  for (const [i, word] of words.entries()) {
    const sum = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
    const first = (h + sum + ((e & f) ^ (~e & g)) + (ROUND_CONSTANTS[i] ?? 0) + word) >>> 0;
    const second = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) >>> 0, c, b, a, (first + second) >>> 0];
  }
  for (const [i, word] of [a, b, c, d, e, f, g, h].entries()) state[i] = (state[i] ?? 0) + word;
}

function rotate(word: number, bits: number): number {
  return (word >>> bits) | (word << (32 - bits));
}

const ROUND_CONSTANTS: readonly number[] = fractionsOfRoots(64, Math.cbrt);

/**
 * The first 32 bits of the fractional parts of the roots of the first primes, as the standard defines its constants.
 */
function fractionsOfRoots(count: number, root: (prime: number) => number): readonly number[] {
  const primes: number[] = [];
  for (let n = 2; primes.length < count; n++) if (primes.every((prime) => n % prime !== 0)) primes.push(n);
  return primes.map((prime) => Math.floor((root(prime) % 1) * 2 ** 32));
}
