import { DAY_MS, MINUTE_MS, type Usage } from "../../../lib/plans/windows.ts";
import type { CancelResponse } from "./http-caller.ts";

/** Counts the admitted requests of an account by the minute in their responses. */
export interface Meter {
  sent(): void;
  responded(response: CancelResponse): void;
  /** Explains how the stored counters contradict the responses. */
  violations({ minute, day }: Usage): readonly string[];
}

/** Creates an empty meter. The tightest quota of the account must be that of the minute. */
export function createMeter(): Meter {
  let sent = 0;
  const admitted = new Map<number, number>();

  return {
    sent() {
      sent++;
    },

    responded({ status, headers }) {
      if (![204, 404, 409].includes(status)) throw new Error(`Got ${status}.`);
      const minute = Number(headers["x-ratelimit-reset"]) * 1_000 - MINUTE_MS;
      admitted.set(minute, (admitted.get(minute) ?? 0) + 1);
    },

    violations({ minute, day }) {
      const admittedIn = (from: number, length: number) =>
        [...admitted].reduce(
          (sum, [start, count]) => sum + (start >= from && start < from + length ? count : 0),
          0,
        );
      const last = Math.max(...admitted.keys());
      return [
        ...(minute.start < last ? [`the minute ${last} was forgotten: ${minute.start}`] : []),
        ...(minute.count < admittedIn(minute.start, MINUTE_MS)
          ? [`${minute.count} counted in the minute, ${admittedIn(minute.start, MINUTE_MS)} admitted`]
          : []),
        ...(day.count < admittedIn(day.start, DAY_MS)
          ? [`${day.count} counted in the day, ${admittedIn(day.start, DAY_MS)} admitted`]
          : []),
        ...(day.count > sent ? [`${day.count} counted in the day, ${sent} sent`] : []),
      ];
    },
  };
}
