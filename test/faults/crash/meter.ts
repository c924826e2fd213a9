import { DAY_MS, MINUTE_MS, type Usage } from "../../../lib/plans/windows.ts";
import type { Reply } from "./http-caller.ts";

/** How often an account was seen to be admitted, by the minute that its answers named. */
export interface Meter {
  sent(): void;
  answered(answer: Reply): void;
  /** What is wrong with the counters that were found. */
  objections({ minute, day }: Usage): readonly string[];
}

/** Begins with nothing. The binding window of the account has to be the minute. */
export function openMeter(): Meter {
  let sent = 0;
  const admitted = new Map<number, number>();

  return {
    sent() {
      sent++;
    },

    answered({ status, headers }) {
      if (![204, 404, 409].includes(status)) throw new Error(`Answered with ${status}.`);
      const minute = Number(headers["x-ratelimit-reset"]) * 1_000 - MINUTE_MS;
      admitted.set(minute, (admitted.get(minute) ?? 0) + 1);
    },

    objections({ minute, day }) {
      const told = (from: number, length: number) =>
        [...admitted].reduce(
          (sum, [start, count]) => sum + (start >= from && start < from + length ? count : 0),
          0,
        );
      const last = Math.max(...admitted.keys());
      return [
        ...(minute.start < last ? [`the minute ${last} was forgotten: ${minute.start}`] : []),
        ...(minute.count < told(minute.start, MINUTE_MS)
          ? [`${minute.count} counted in the minute, ${told(minute.start, MINUTE_MS)} answered`]
          : []),
        ...(day.count < told(day.start, DAY_MS)
          ? [`${day.count} counted in the day, ${told(day.start, DAY_MS)} answered`]
          : []),
        ...(day.count > sent ? [`${day.count} counted in the day, ${sent} sent`] : []),
      ];
    },
  };
}
