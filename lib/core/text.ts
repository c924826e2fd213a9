import type { Instant } from "./time.ts";

/** Characters with which a string from outside could control a terminal become `\u001b`; JSON remains the same. */
export function escapeControls(text: string): string {
  // An escape of JSON has four digits, so that some characters need two.
  const escapeUnit = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return text.replace(/[^\P{C}\n]|[\p{Zl}\p{Zp}]/gu, (found) => found.replace(/./gs, escapeUnit));
}

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

export function formatCount(count: number): string {
  countFormat ??= new Intl.NumberFormat("en-US", { maximumFractionDigits: 20 });
  return countFormat.format(count);
}

/** Created on first use: it takes 7 MiB, which a server would keep. */
let countFormat: Intl.NumberFormat | undefined;

/** RFC 3339 with whole seconds. */
export function formatTimestamp(at: Instant): string {
  return new Date(at).toISOString().replace(/\.\d+Z$/, "Z");
}
