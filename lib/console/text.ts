import type { Instant } from "../clock.ts";

/** Formats a count for people: `1000`, and `10,000` with separators. */
export function formatCount(count: number): string {
  return COUNT_FORMAT.format(count);
}

const COUNT_FORMAT = new Intl.NumberFormat("en-US", { useGrouping: "min2" });

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

/** Formats an instant in UTC: `2026-11-20 09:30 UTC`. */
export function formatInstant(at: Instant): string {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? "never" : `${date.toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

/** Formats an instant of today in UTC: `09:30:12 UTC`. */
export function formatTime(at: Instant): string {
  return `${new Date(at).toISOString().slice(11, 19)} UTC`;
}
