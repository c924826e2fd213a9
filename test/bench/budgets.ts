import { median, type Samples } from "./rounds.ts";
import {
  BARE,
  BASE_COMMIT,
  COUNTS_IN_SQLITE,
  EARLIER,
  NO_OUTBOX,
  PAGE_SQL,
  PEERS,
  POSTGRES_PEERS,
  SDK_ALONE,
} from "./servers/candidates.ts";

/** What is measured: its name, its unit, and which direction is better. */
const FIGURES = {
  rate: ["requests per second", "", "more"],
  processor: ["processor time of a request", "µs", "less"],
  peak: ["peak memory", "MiB", "less"],
  aboveIdle: ["memory above idle", "MiB", "less"],
  total: ["total", "ms", "less"],
  firstByte: ["first byte", "ms", "less"],
  latency: ["worst latency of a concurrent request", "ms", "less"],
  cancel: ["load and first cancel", "ms", "less"],
  list: ["load and first list", "ms", "less"],
  cancelShare: ["the same cancel with 0.29 of a core", "ms", "less"],
  listShare: ["the same list with 0.29 of a core", "ms", "less"],
} as const;

/** A limit of a figure of a job: in its unit or, with `than`, relative to the best of these candidates. */
export interface Budget {
  readonly job: string;
  readonly figure: keyof typeof FIGURES;
  readonly than?: readonly string[];
  /** The least if more is better, otherwise the most. Without a limit, the figure is only reported. */
  readonly limit?: number;
}

export const BUDGETS: readonly Budget[] = [
  { job: "list", figure: "processor", than: [EARLIER], limit: 0.75 },
  { job: "list", figure: "processor", than: PEERS, limit: 0.5 },
  { job: "list", figure: "processor", than: [BARE] },
  { job: "list", figure: "peak", than: PEERS, limit: 0.9 },
  { job: "cancel", figure: "processor", than: [EARLIER], limit: 0.85 },
  { job: "cancel", figure: "processor", than: PEERS, limit: 0.33 },
  { job: "cancel", figure: "processor", than: [BARE] },
  { job: "cancel", figure: "rate", than: PEERS, limit: 3.3 },
  { job: "cancel", figure: "peak", than: PEERS, limit: 1.1 },
  { job: "single-cancel", figure: "processor", than: [EARLIER], limit: 0.85 },
  { job: "single-cancel", figure: "processor", than: PEERS },
  { job: "single-cancel", figure: "processor", than: [BARE] },
  { job: "single-cancel", figure: "rate", than: [COUNTS_IN_SQLITE], limit: 1.2 },
  { job: "single-cancel", figure: "rate", than: PEERS, limit: 0.5 },
  { job: "rejected", figure: "processor", than: [EARLIER], limit: 0.95 },
  { job: "rejected", figure: "processor", than: PEERS, limit: 1.1 },
  { job: "rejected", figure: "processor", than: [BARE] },
  { job: "long-list", figure: "firstByte", limit: 20 },
  { job: "long-list", figure: "peak", limit: 100 },
  { job: "long-list", figure: "total", than: [PAGE_SQL], limit: 0.65 },
  { job: "long-list", figure: "latency", limit: 25 },
  { job: "long-list", figure: "total", than: PEERS },
  { job: "long-list", figure: "peak", than: PEERS },
  { job: "outbox", figure: "rate", than: [NO_OUTBOX], limit: 0.85 },
  { job: "postgres-cancel", figure: "rate", than: POSTGRES_PEERS, limit: 3.5 },
  { job: "postgres-cancel-100-accounts", figure: "rate", than: POSTGRES_PEERS, limit: 1.5 },
  { job: "postgres-single-cancel", figure: "rate", than: POSTGRES_PEERS, limit: 0.6 },
  { job: "postgres-single-cancel", figure: "processor", than: ["1 statement"], limit: 2.5 },
  { job: "postgres-list", figure: "rate", than: POSTGRES_PEERS, limit: 4 },
  { job: "postgres-long-list", figure: "firstByte", limit: 20 },
  { job: "postgres-long-list", figure: "aboveIdle", limit: 64 },
  { job: "postgres-outbox", figure: "rate", than: [NO_OUTBOX], limit: 0.85 },
  { job: "dynamodb-long-list", figure: "aboveIdle", limit: 96 },
  ...(["cancel", "list", "cancelShare", "listShare"] as const).flatMap((figure) => [
    { job: "bundle", figure, than: [BASE_COMMIT], limit: figure.endsWith("Share") ? 0.65 : 0.85 },
    { job: "bundle", figure, than: [SDK_ALONE] },
  ]),
];

/** Compares the figures of a job with a budget. */
export interface Verdict {
  /** The row of the report. */
  readonly cells: readonly string[];
  /** `undefined` if there is no limit. */
  readonly met: boolean | undefined;
}

/** Judges a budget by the median of the rounds. A ratio is the median of the ratios in each round. */
export function judge({ job, figure, than, limit }: Budget, samples: Samples | undefined): Verdict {
  const [name, unit, better] = FIGURES[figure];
  const of = (candidate: string) => (samples?.[candidate] ?? []).map((figures) => figures[figure] ?? NaN);
  const ours = of("ours");
  const sign = better === "more" ? -1 : 1;
  const best = than?.toSorted((a, b) => sign * (median(of(a)) - median(of(b))))[0];
  const rivals = best === undefined ? [] : of(best);
  const value = median(best === undefined ? ours : ours.map((each, round) => each / (rivals[round] ?? NaN)));
  const met = limit === undefined ? undefined : better === "more" ? value >= limit : value <= limit;
  const shown = (number: number, suffix = unit) => `${format(number)} ${suffix}`.trim();
  const budget =
    limit === undefined
      ? ""
      : `${better === "more" ? "≥" : "≤"} ${best === undefined ? shown(limit) : limit}`;
  const verdict =
    met === undefined ? "" : met ? "met" : samples === undefined ? "**not measured**" : "**missed**";
  const rival = best === undefined ? "" : samples === undefined ? best : `${shown(median(rivals))} (${best})`;
  const ratio = best === undefined || samples === undefined ? "" : value.toFixed(2);
  return {
    cells: [job, name, samples === undefined ? "" : shown(median(ours)), rival, ratio, budget, verdict],
    met,
  };
}

function format(value: number): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toLocaleString("en-US", { maximumFractionDigits: digits });
}
