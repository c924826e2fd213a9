import { bestPeer, type Figure, type JobReport, type Spread, timesBetter } from "./figures.ts";

/** The whole run as Markdown: one table of what counts, then everyone's figures job by job. */
export function toMarkdown(machine: readonly string[], reports: readonly JobReport[]): string {
  const verdicts = reports.flatMap(({ figures }) => figures.flatMap(({ verdict }) => verdict ?? []));
  const met = verdicts.filter((verdict) => verdict.met).length;
  return [
    ...machine.map((line) => `- ${line}`),
    "",
    table(
      ["job", "figure", "ours", "best peer", "× better", "floor", "of the floor", "budget", ""],
      reports.flatMap(({ title, figures }) => figures.map((figure) => summary(title, figure))),
    ),
    "",
    `${met} of ${verdicts.length} budgets met.`,
    ...reports.flatMap(details),
    "",
  ].join("\n");
}

function summary(title: string, figure: Figure): readonly string[] {
  const { what, unit, ours, floor, verdict } = figure;
  const best = bestPeer(figure);
  return [
    title,
    what,
    number(ours.median, unit),
    best === undefined ? "" : `${number(best[1].median, unit)} (${best[0]})`,
    best === undefined ? "" : timesBetter(figure, best[1]).toFixed(2),
    floor === undefined ? "" : number(floor.median, unit),
    floor === undefined ? "" : (ours.median / floor.median).toFixed(2),
    verdict?.budget ?? "",
    verdict === undefined ? "" : verdict.met ? "met" : "**missed**",
  ];
}

function details({ title, figures, notes }: JobReport): readonly string[] {
  const everyone = figures.map(({ ours, besides, peers, floor }) => ({
    ours,
    ...besides,
    ...peers,
    ...(floor === undefined ? {} : { floor }),
  }));
  const names = [...new Set(everyone.flatMap((spreads) => Object.keys(spreads)))];
  const rows = figures.map(({ what, unit }, index) => {
    const spreads: Readonly<Record<string, Spread>> = everyone[index] ?? {};
    return [what, ...names.map((name) => range(spreads[name], unit))];
  });
  return ["", `### ${title}`, "", table(["", ...names], rows), "", ...notes.map((note) => `- ${note}`)];
}

function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const rule = heads.map((_, column) => (column === 0 ? "---" : "---:"));
  return [line(heads), line(rule), ...rows.map(line)].join("\n");
}

function range(spread: Spread | undefined, unit: string): string {
  if (spread === undefined || Number.isNaN(spread.median)) return "";
  const { median, least, most } = spread;
  return least === most
    ? number(median, unit)
    : `${number(median, unit)} (${number(least)} … ${number(most)})`;
}

function number(value: number, unit = ""): string {
  if (Number.isNaN(value)) return "not known here";
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  const text = value.toLocaleString("en-US", { maximumFractionDigits: digits });
  return unit === "" ? text : unit === "/s" ? `${text}/s` : `${text} ${unit}`;
}
