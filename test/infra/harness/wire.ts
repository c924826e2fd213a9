import { readFileSync } from "node:fs";

/** A decoded value of a registration: plain data, with markers for secrets, assets and unknown values. */
export type Value = null | boolean | number | string | readonly Value[] | { readonly [key: string]: Value };

/** Replaces a value that is not known in a preview. */
export const UNKNOWN = "<not known yet>";

/** The same between processes. */
export const UNKNOWN_ON_THE_WIRE = "04da6b54-80e4-46f7-96ec-b56ff0331ba9";
const SIGNATURE = "4dabf18193072939515e22adb298388d";
const KINDS: Readonly<Record<string, string>> = {
  "1b47061264138c4ac30d75fd1eb44270": "secret",
  c44067f5952c0a294b673a41bacd8c17: "asset",
  "0def7320c3a5731c473e5ecbe6d01bc7": "archive",
};

export function wireSecret(value: string): { [key: string]: string } {
  return { [SIGNATURE]: "1b47061264138c4ac30d75fd1eb44270", value };
}

/**
 * Decodes a value from the language host: secrets become `{ secret }`, archives `{ archive }`, and assets `{ asset }` with
 * the content of their file, which Pulumi's engine compares as well, because a program may delete it at its end.
 */
export function decode(value: unknown): Value {
  if (value === UNKNOWN_ON_THE_WIRE) return UNKNOWN;
  if (Array.isArray(value)) return value.map(decode);
  if (typeof value !== "object" || value === null) return value as Value;
  const entries = Object.entries(value).filter(([key]) => key !== SIGNATURE);
  const content = Object.fromEntries(entries.map(([key, inner]) => [key, decode(inner)]));
  const kind = KINDS[(value as Record<string, string>)[SIGNATURE] ?? ""];
  if (kind === undefined) return content;
  if (kind === "asset") return { asset: readFileSync(String(content["path"]), "utf8") };
  return { [kind]: kind === "secret" ? (content["value"] ?? null) : content };
}
