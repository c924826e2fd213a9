import { createHash } from "node:crypto";
import { crc32 as zlibCrc32 } from "node:zlib";
import fc from "fast-check";
import { expect, test, vi } from "vitest";
import { generateKey, keyIdOf, redactKeys, shortHash } from "../../lib/accounts/api-key.ts";
import { findKeys, hashKey } from "../../lib/accounts/hash-key.ts";
import { randomBase62 } from "../../lib/core/base62.ts";
import { anyText } from "../support/any-text.ts";
import { parseKey } from "../support/parse-key.ts";

test("a key is so_<environment>_<account>_<secret><checksum>, 32 and 6 characters of base62", () => {
  const key = generateKey("live", "my-shop-1");
  expect(key).toMatch(/^so_live_my-shop-1_[0-9A-Za-z]{38}$/);
  expect(parseKey(key)).toEqual({
    accountId: "my-shop-1",
    hash: createHash("sha256").update(key).digest("hex"),
  });
});

test("every key is found in a string, once", async () => {
  const [key, other] = [generateKey("live", "my-shop"), generateKey("test", "demo")];
  const found = (accountId: string, text: string) => ({
    accountId,
    keyId: keyIdOf(accountId, hashKey(text)),
  });
  for (const text of [key, `Bearer ${key}`, `{"key":"${key}"} and ${key}.`, `${other}x\t${key}\n`])
    expect(await findKeys(text), text).toEqual([found("my-shop", key)]);
  for (const text of ["", "Bearer", other.slice(1)]) expect(await findKeys(text), text).toEqual([]);
  expect(await findKeys(`${key} ${other}`)).toEqual([found("my-shop", key), found("demo", other)]);
  // Where every word was imported: one that begins as ours could not be used.
  const imported = { exist: async () => true, findAccount: async () => "shop", record: async () => {} };
  expect(await findKeys("so_live_old_1 so_1", imported)).toEqual([found("shop", "so_1")]);
});

test("a key with any one character changed is rejected by its checksum", () => {
  const key = generateKey("test", "demo");
  for (let place = 0; place < key.length; place++) {
    const other = key[place] === "x" ? "y" : "x";
    expect(parseKey(key.slice(0, place) + other + key.slice(place + 1)), `place ${place}`).toBeUndefined();
  }
  expect(parseKey(key.slice(0, -1))).toBeUndefined();
  expect(parseKey(`${key}0`)).toBeUndefined();
  expect(parseKey(key.replace("_test_", "_live_"))).toBeUndefined();
  expect(parseKey(key.toUpperCase())).toBeUndefined();
  expect(parseKey(`${key}\n`)).toBeUndefined();
});

test("no other text is accepted as a key", () => {
  fc.assert(fc.property(anyText(), (text) => parseKey(text) === undefined));
  fc.assert(
    fc.property(fc.stringMatching(/^so_test_demo_[0-9A-Za-z]{38}$/), (text) => parseKey(text) === undefined),
  );
});

test("secrets are unique", () => {
  expect(new Set(Array.from({ length: 2_000 }, () => randomBase62(32))).size).toBe(2_000);
});

test("every character is as likely as any other, whatever bytes the generator returns", () => {
  let next = 100;
  vi.spyOn(crypto, "getRandomValues").mockImplementation((bytes) => {
    (bytes as unknown as Uint8Array).forEach((_, at, all) => {
      all[at] = next++;
    });
    return bytes;
  });
  let first = "";
  // What is left of the bytes before.
  while (next === 100) first = randomBase62(1);
  const characters = [...first, ...randomBase62(1_024 - 4 * 8 - 1)];
  vi.restoreAllMocks();
  const counts = new Map(characters.map((one) => [one, characters.filter((other) => other === one).length]));
  expect([counts.size, new Set(counts.values())]).toEqual([62, new Set([16])]);
});

test("the short hash is the last 116 bits of the hash in base62, and a key's identifier ends with its end", () => {
  const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  fc.assert(
    fc.property(fc.stringMatching(/^[0-9a-f]{64}$/), (hash) => {
      const short = shortHash(hash);
      expect(short).toMatch(/^[0-9A-Za-z]{20}$/);
      const value = [...short].reduce((sum, digit) => sum * 62n + BigInt(digits.indexOf(digit)), 0n);
      expect(value).toBe(BigInt(`0x${hash}`) & (2n ** 116n - 1n));
      expect(keyIdOf("acme", hash)).toBe(`acme.${short.slice(10)}`);
    }),
  );
  for (const other of ["", "1".repeat(63), "1".repeat(65), `${"1".repeat(63)}g`])
    expect(shortHash(other)).toBe(other);
});

test("the checksum of a key is the CRC-32 of what precedes it, in base62", () => {
  const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  for (let round = 0; round < 200; round++) {
    const key = generateKey("test", "demo");
    const checksum = [...key.slice(-6)].reduce((sum, digit) => sum * 62 + digits.indexOf(digit), 0);
    expect(checksum).toBe(zlibCrc32(key.slice(0, -6)));
  }
});

test("without Node's crypto module, as in a browser or a worker, a key has the same hash", async () => {
  vi.resetModules();
  vi.spyOn(process, "getBuiltinModule").mockReturnValue(undefined);
  const { digestKey } = await import("../../lib/accounts/api-key.ts");
  const elsewhere = await import("../../lib/accounts/hash-key.ts");
  vi.restoreAllMocks();
  // The next files of this worker must not get these modules.
  vi.resetModules();
  expect(elsewhere.hashKey).not.toBe(hashKey);
  await fc.assert(
    fc.asyncProperty(anyText({ maxLength: 300 }), async (text) => {
      const expected = createHash("sha256").update(text).digest("hex");
      expect(elsewhere.hashKey(text)).toBe(expected);
      expect(await digestKey(text)).toBe(expected);
      expect(hashKey(text)).toBe(expected);
    }),
  );
});

test("a key is redacted however often it is percent-encoded, also if its account has hyphens", () => {
  const key = generateKey("live", "my-own-shop");
  const secret = key.slice(key.lastIndexOf("_") + 1);
  const encode = (text: string) =>
    text.replace(/[^0-9A-Za-z]/g, (character) => `%${character.charCodeAt(0).toString(16)}`);
  for (const text of [key, encode(key), encode(encode(key)), encode(key).toLowerCase()]) {
    const redacted = redactKeys(`before ${text} after`);
    expect(redacted.toLowerCase()).not.toContain(secret.toLowerCase());
    expect(redacted).toMatch(/^before so.+… after$/);
  }
});

test("the secret of a webhook is redacted, also in lower case, as a hostname is written", () => {
  const secret = `whsec_${Buffer.alloc(32, 251).toString("base64")}`;
  expect(redactKeys(`'${secret}' ${secret.toLowerCase()}.`)).toBe("'whsec_…' whsec_….");
});

test("the hash depends on the key only", () => {
  expect(hashKey("abc")).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
});
