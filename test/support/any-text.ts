import fc from "fast-check";

/** Any character. The unit "binary" of `fc.string` takes a second of each process for a table of all of them. */
const anyCharacter = fc.nat(0x10_ffff).map(
  (point) => String.fromCodePoint(point).toWellFormed(),
  (text) => `${text}`.codePointAt(0) ?? -1,
);

/** Texts of any characters, among them words that are special in JavaScript. */
export const anyText = (length: { readonly maxLength?: number } = {}) =>
  fc.string({ unit: anyCharacter, ...length });
