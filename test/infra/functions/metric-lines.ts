import type { RunningFunction } from "./runtime-api.ts";

/** The log lines of a function that contain metrics. */
export const metricLines = (running: RunningFunction) =>
  running
    .log()
    .split("\n")
    .filter((line) => line.includes('"_aws"'))
    .map((line) => JSON.parse(line) as Record<string, unknown>);
