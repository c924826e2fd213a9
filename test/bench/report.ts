import { bestPeer, type Distribution, type Figure, type JobReport, timesBetter } from "./figures.ts";

/** Formats the run as Markdown: one summary table, then the figures of every candidate by job. */
export function toMarkdown(machine: readonly string[], reports: readonly JobReport[]): string {
  const verdicts = reports.flatMap(({ figures }) => figures.flatMap(({ verdict }) => verdict ?? []));
  const metCount = verdicts.filter((verdict) => verdict.met).length;
  return [
    ...machine.map((line) => `- ${line}`),
    "",
    table(
      ["job", "figure", "ours", "best peer", "× better", "baseline", "× baseline", "budget", ""],
      reports.flatMap(({ title, figures }) => figures.map((figure) => summary(title, figure))),
    ),
    "",
    `${metCount} of ${verdicts.length} budgets met.`,
    ...reports.flatMap(missedBudgets),
    ...reports.flatMap(details),
    "",
  ].join("\n");
}

function missedBudgets({ title, figures }: JobReport): readonly string[] {
  return figures.flatMap(({ name, verdict }) =>
    verdict === undefined || verdict.met ? [] : [`- Missed: ${title}, ${name}: ${verdict.budget}`],
  );
}

function summary(title: string, figure: Figure): readonly string[] {
  const { name, unit, ours, baseline, verdict } = figure;
  const best = bestPeer(figure);
  return [
    title,
    name,
    formatNumber(ours.median, unit),
    best === undefined ? "" : `${formatNumber(best[1].median, unit)} (${best[0]})`,
    best === undefined ? "" : timesBetter(figure, best[1]).toFixed(2),
    baseline === undefined ? "" : formatNumber(baseline.median, unit),
    baseline === undefined ? "" : (ours.median / baseline.median).toFixed(2),
    verdict?.budget ?? "",
    verdict === undefined ? "" : verdict.met ? "met" : "**missed**",
  ];
}

function details({ title, figures, notes }: JobReport): readonly string[] {
  const distributions = figures.map(({ ours, others, peers, baseline }) => ({
    ours,
    ...others,
    ...peers,
    ...(baseline === undefined ? {} : { baseline }),
  }));
  const names = [...new Set(distributions.flatMap((row) => Object.keys(row)))];
  const rows = figures.map(({ name, unit }, index) => {
    const row: Readonly<Record<string, Distribution>> = distributions[index] ?? {};
    return [name, ...names.map((name) => formatRange(row[name], unit))];
  });
  return ["", `### ${title}`, "", table(["", ...names], rows), "", ...notes.map((note) => `- ${note}`)];
}

function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const rule = heads.map((_, column) => (column === 0 ? "---" : "---:"));
  return [line(heads), line(rule), ...rows.map(line)].join("\n");
}

function formatRange(distribution: Distribution | undefined, unit: string): string {
  if (distribution === undefined || Number.isNaN(distribution.median)) return "";
  const { median, min, max } = distribution;
  return min === max
    ? formatNumber(median, unit)
    : `${formatNumber(median, unit)} (${formatNumber(min)} … ${formatNumber(max)})`;
}

function formatNumber(value: number, unit = ""): string {
  if (Number.isNaN(value)) return "unknown";
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  const text = value.toLocaleString("en-US", { maximumFractionDigits: digits });
  return unit === "" ? text : unit === "/s" ? `${text}/s` : `${text} ${unit}`;
}
