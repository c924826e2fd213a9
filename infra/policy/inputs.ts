/** Replaces a value that is not known yet. It violates no policy; the resource is checked again once it is known. */
export const UNKNOWN: unique symbol = Symbol("unknown");

/** The inputs of a resource, with `UNKNOWN` in place of every value that is not known yet. */
export type Inputs = Readonly<Record<string, unknown>>;

/** True for an object literal or parsed JSON, false for arrays and instances of classes, such as resources. */
export function isPlainObject(value: unknown): value is Inputs {
  if (typeof value !== "object" || value === null) return false;
  return [Object.prototype, null].includes(Object.getPrototypeOf(value));
}

/** The strings of a value that is a string, an array or anything else. */
export function stringsIn(value: unknown): readonly string[] {
  return [value].flat().filter((text) => typeof text === "string");
}

/** True if a value is, or may turn out to be, the expected one. */
export function isOrUnknown(value: unknown, expected: unknown): boolean {
  return value === UNKNOWN || value === expected;
}
