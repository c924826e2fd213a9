/** One curve of a chart. */
export interface Curve {
  readonly label: string;
  readonly points: readonly { readonly at: number; readonly value: number }[];
}

/** One chart. Both axes are logarithmic. */
export interface Panel {
  readonly title: string;
  readonly unit: string;
  readonly curves: readonly Curve[];
}

const WIDTH = 520;
const HEIGHT = 340;
const PLOT = { left: 62, right: 300, top: 44, bottom: 290 };
/** Colours of equal lightness, legible on white and on black. */
const COLOURS = ["#3b82c4", "#c2681f", "#3f9655", "#9a5fc9", "#c44e6d", "#85803a"];

/** Draws the panels side by side as an SVG, legible in light and dark mode. `description` is its text alternative. */
export function drawPicture(panels: readonly Panel[], description: string): string {
  const style = `text { font: 12px system-ui, sans-serif; fill: #24292f } .faint { fill: #6e7781 }
    .grid { stroke: #8c959f; stroke-opacity: .3 } .curve { fill: none; stroke-width: 2 }
    @media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .faint { fill: #9198a1 } }`;
  const width = WIDTH * panels.length;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${HEIGHT}" width="${width}" height="${HEIGHT}" role="img" aria-label="${description}">
  <style>${style}</style>
${panels.map((panel, index) => `  <g transform="translate(${index * WIDTH} 0)">\n${drawPanel(panel)}\n  </g>`).join("\n")}
</svg>
`;
}

function drawPanel({ title, unit, curves }: Panel): string {
  const points = curves.flatMap((curve) => curve.points);
  const x = scale(
    points.map(({ at }) => at),
    PLOT.left,
    PLOT.right,
  );
  const y = scale(
    points.map(({ value }) => value),
    PLOT.bottom,
    PLOT.top,
  );
  const lines = [
    `<text x="${PLOT.left}" y="20" font-weight="600">${title}</text>`,
    `<text x="${PLOT.left}" y="36" class="faint">${unit}, both axes logarithmic</text>`,
    ...y.ticks.map(
      (tick) =>
        `<path class="grid" d="M${PLOT.left} ${y.of(tick)}H${PLOT.right}"/><text x="${PLOT.left - 8}" y="${y.of(tick) + 4}" text-anchor="end" class="faint">${abbreviate(tick)}</text>`,
    ),
    ...x.ticks.map(
      (tick) =>
        `<text x="${x.of(tick)}" y="${PLOT.bottom + 20}" text-anchor="middle" class="faint">${abbreviate(tick)}</text>`,
    ),
  ];
  const ends = spreadLabels(curves.map(({ points }) => y.of(points.at(-1)?.value ?? 1)));
  const marks = curves.map(({ label, points }, index) => {
    const colour = COLOURS[index % COLOURS.length];
    const path = points
      .map(({ at, value }, nth) => `${nth === 0 ? "M" : "L"}${x.of(at)} ${y.of(value)}`)
      .join("");
    const dots = points.map(
      ({ at, value }) => `<circle cx="${x.of(at)}" cy="${y.of(value)}" r="3" fill="${colour}"/>`,
    );
    return `<path class="curve" stroke="${colour}" d="${path}"/>${dots.join("")}<text x="${PLOT.right + 10}" y="${(ends[index] ?? 0) + 4}" style="fill:${colour}">${label}</text>`;
  });
  return [...lines, ...marks].map((line) => `    ${line}`).join("\n");
}

/** A logarithmic scale from one position to another, with a tick at each power of ten. */
function scale(values: readonly number[], from: number, to: number) {
  const known = values.filter((value) => value > 0);
  const low = Math.floor(Math.log10(Math.min(...known)));
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...known))));
  const of = (value: number) => Math.round(from + ((Math.log10(value) - low) / (high - low)) * (to - from));
  return { of, ticks: Array.from({ length: high - low + 1 }, (_, step) => 10 ** (low + step)) };
}

/** Moves labels down until none overlaps another. */
function spreadLabels(positions: readonly number[]): readonly number[] {
  const moved = [...positions];
  let lowest = -Infinity;
  for (const [index] of [...positions.entries()].sort(([, a], [, b]) => a - b)) {
    lowest = Math.max(positions[index] ?? 0, lowest + 14);
    moved[index] = lowest;
  }
  return moved;
}

function abbreviate(value: number): string {
  if (value >= 1e9) return `${value / 1e9}G`;
  if (value >= 1_000_000) return `${value / 1_000_000}M`;
  if (value >= 1_000) return `${value / 1_000}k`;
  return `${Number(value.toPrecision(1))}`;
}
