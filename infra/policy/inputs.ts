/** Replaces a value that is not known yet. It violates no policy; the resource is checked again once it is known. */
export const UNKNOWN: unique symbol = Symbol("unknown");

/** The inputs of a resource, with `UNKNOWN` in place of every value that is not known yet. */
export type Inputs = Readonly<Record<string, unknown>>;

/**
 * True for an object that Pulumi registers property by property: an object literal, parsed JSON, or an instance of a
 * class, but not an array, a resource or an asset.
 */
export function isPlainObject(value: unknown): value is Inputs {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return !PULUMI_MARKS.some((mark) => mark in value);
}

const PULUMI_MARKS = ["__pulumiResource", "__pulumiAsset", "__pulumiArchive", "__pulumiOutput"];

/** The strings of a value that is a string, an array at any depth or anything else. */
export function stringsIn(value: unknown): readonly string[] {
  return [value].flat(Number.POSITIVE_INFINITY).filter((text) => typeof text === "string");
}

/** True if a value is, or may turn out to be, the expected one. */
export function isOrUnknown(value: unknown, expected: unknown): boolean {
  return value === UNKNOWN || value === expected;
}
