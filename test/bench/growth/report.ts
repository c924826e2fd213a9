import { type Curve, drawPicture } from "../../support/picture.ts";
import type { Figures, GROWTHS } from "./measure.ts";

/** What was measured: by kind of growth and size, that size and the least one in the same run. */
export type Results = Partial<Record<keyof typeof GROWTHS, Readonly<Record<string, Result>>>>;

interface Result {
  readonly base: Figures;
  readonly size: Figures;
  readonly machine: readonly string[];
}

interface Column {
  readonly title: string;
  readonly of: (figures: Figures, size: number) => number;
  readonly unit: string;
  /** Shown beside it: how many times that of the least size in the same run. */
  readonly compared?: boolean;
}

const figure = (name: string) => (figures: Figures) => figures[name] ?? NaN;
const perThousand = (figures: Figures, size: number) => (figure("listProcessorMs")(figures) / size) * 1e6;

const COLUMNS: Readonly<Record<keyof typeof GROWTHS, readonly Column[]>> = {
  orders: [
    { title: "database", of: figure("megabytes"), unit: "MB" },
    { title: "durable cancel, processor time", of: figure("cancelMicroseconds"), unit: "µs", compared: true },
    { title: "first byte of the list", of: figure("firstByteMs"), unit: "ms", compared: true },
    { title: "list per 1,000 orders, processor time", of: perThousand, unit: "µs", compared: true },
    { title: "whole list", of: figure("listMs"), unit: "ms" },
    { title: "peak memory", of: figure("peakMiB"), unit: "MiB", compared: true },
  ],
  accounts: [
    { title: "database", of: figure("megabytes"), unit: "MB" },
    { title: "list of 20, processor time", of: figure("listMicroseconds"), unit: "µs", compared: true },
    { title: "durable cancel, processor time", of: figure("cancelMicroseconds"), unit: "µs", compared: true },
    { title: "peak memory", of: figure("peakMiB"), unit: "MiB", compared: true },
  ],
};
const BASES = { orders: 100, accounts: 1 } as const;

/** The tables in Markdown. The first row is the least size, from the first run. */
export function toTables(results: Results): string {
  return (["orders", "accounts"] as const).map((kind) => toTable(kind, results[kind] ?? {})).join("\n");
}

function toTable(kind: keyof typeof GROWTHS, results: Readonly<Record<string, Result>>): string {
  const columns = COLUMNS[kind];
  const sizes = Object.keys(results).sort((a, b) => Number(a) - Number(b));
  const first = results[sizes[0] ?? ""];
  if (first === undefined) return "";
  const cell = ({ of, unit, compared }: Column, figures: Figures, size: number, base?: Figures) => {
    const value = of(figures, size);
    const shown = `${round(value)} ${unit}`;
    if (base === undefined || compared !== true) return shown;
    return `${shown} (× ${(value / of(base, BASES[kind])).toFixed(2)})`;
  };
  const rows = [
    [kind, ...columns.map(({ title }) => title)],
    ["---:", ...columns.map(() => "---:")],
    [number(BASES[kind]), ...columns.map((column) => cell(column, first.base, BASES[kind]))],
    ...sizes.map((size) => {
      const { base, size: figures } = results[size] as Result;
      return [number(Number(size)), ...columns.map((column) => cell(column, figures, Number(size), base))];
    }),
  ];
  const machines = new Set(sizes.flatMap((size) => results[size]?.machine ?? []));
  return `${rows.map((row) => `| ${row.join(" | ")} |`).join("\n")}\n\n${[...machines].join("\n")}\n`;
}

/** Draws all compared figures of time, relative to the least size. */
export function drawGrowth(results: Results): string {
  const panels = (["orders", "accounts"] as const).map((kind) => {
    const compared = COLUMNS[kind].filter((column) => column.compared === true && column.unit !== "MiB");
    const curves: Curve[] = compared.map(({ title, of }) => ({
      label: title.replace(", processor time", ""),
      points: [
        { at: BASES[kind], value: 1 },
        ...Object.entries(results[kind] ?? {})
          .map(([size, { base, size: figures }]) => ({
            at: Number(size),
            value: of(figures, Number(size)) / of(base, BASES[kind]),
          }))
          .toSorted((a, b) => a.at - b.at),
      ],
    }));
    return { title: `by number of ${kind}`, unit: `× that of ${BASES[kind]}`, curves };
  });
  return drawPicture(
    panels,
    "The cost of a request by number of orders and of accounts; the tables have the figures",
  );
}

function round(value: number): string {
  return number(Number(value.toPrecision(3)));
}

function number(value: number): string {
  return value.toLocaleString("en-US");
}
