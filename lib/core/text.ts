import type { Instant } from "./time.ts";

/**
 * Writes control characters but line feeds, and those that break lines or reverse text, as `\u001b`: a string from
 * outside cannot control a terminal then, and a string of JSON remains the same.
 */
export function escapeControls(text: string): string {
  return text.replace(/[^\P{C}\n]|[\p{Zl}\p{Zp}]/gu, escapeUnits);
}

/** An escape of JSON has four digits, so that some characters need two. */
function escapeUnits(character: string): string {
  return character.replace(/./gs, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** The same for a line: a line feed is escaped, too. */
export function escapeLine(text: string): string {
  return escapeControls(text).replaceAll("\n", "\\n");
}

/** JSON on one line that cannot control a terminal. A parser reads the same value. */
export function toPrintedJson(value: unknown, replace?: (key: string, value: unknown) => unknown): string {
  return escapeControls(JSON.stringify(value, replace));
}

const UNITS = [
  ["d", 86_400],
  ["h", 3_600],
  ["min", 60],
  ["s", 1],
] as const;

/** Formats a duration with its two largest units, rounded up to a second: `2 h 5 min`, `37 s`. */
export function formatDuration(ms: number): string {
  let seconds = Math.max(0, Math.ceil(ms / 1000));
  const parts = UNITS.flatMap(([unit, size]) => {
    const count = Math.floor(seconds / size);
    seconds -= count * size;
    return count === 0 ? [] : [`${count} ${unit}`];
  });
  return parts.length === 0 ? "0 s" : parts.slice(0, 2).join(" ");
}

/** Formats a count for people: `1,000`. */
export function formatCount(count: number): string {
  countFormat ??= new Intl.NumberFormat("en-US", { maximumFractionDigits: 20 });
  return countFormat.format(count);
}

/** Created on first use: it takes 7 MiB, which a server would keep. */
let countFormat: Intl.NumberFormat | undefined;

/** Formats an instant as RFC 3339 with whole seconds. */
export function formatTimestamp(at: Instant): string {
  return new Date(at).toISOString().replace(/\.\d+Z$/, "Z");
}
