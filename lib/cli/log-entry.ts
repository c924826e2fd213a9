/** What a log line is about: a failure, a problem, or anything else. */
export type LogLevel = "error" | "warn" | "info";

/** The least important level that is logged. */
export type LogThreshold = LogLevel | "silent";

/** Every threshold, from the fewest lines to the most. */
export const LOG_LEVELS: readonly LogThreshold[] = ["silent", "error", "warn", "info"];

/** True if a line of this level is logged. */
export function isLogged(level: LogLevel, threshold: LogThreshold): boolean {
  return LOG_LEVELS.indexOf(level) <= LOG_LEVELS.indexOf(threshold);
}

/** Formats a message about the process as a line of JSON. */
export function formatLogEntry(level: LogLevel, message: string, at: Date): string {
  return JSON.stringify({ at: at.toISOString(), level, message });
}
