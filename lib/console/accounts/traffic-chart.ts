import { html } from "hono/html";
import type { Html } from "../section.ts";
import { formatCount, formatInstant } from "../text.ts";
import type { MinuteTraffic } from "./traffic.ts";

const [STEP, BAR, HEIGHT] = [12, 8, 120];

/** The traffic of the last hour as a chart, with the same in words. Minutes that were not observed have no bar. */
export function trafficChart(minutes: readonly MinuteTraffic[]): Html {
  const seen = minutes.filter(({ admitted }) => admitted !== undefined);
  const first = seen[0];
  if (first === undefined) return html`<p class="quiet">Nothing has been observed yet.</p>`;
  const total = (name: "admitted" | "rejected") => seen.reduce((sum, minute) => sum + (minute[name] ?? 0), 0);
  const most = Math.max(1, ...seen.map(({ admitted = 0, rejected }) => admitted + rejected));
  const summary = `${formatCount(total("admitted"))} admitted and ${formatCount(total("rejected"))} rejected in ${seen.length === 1 ? "the one minute" : `the ${seen.length} minutes`} that this console has observed since ${formatInstant(first.start)}.`;
  return html`<p>${summary}</p>
    <svg class="chart" viewBox="0 0 ${minutes.length * STEP} ${HEIGHT + 2}" role="img" aria-label="Requests per minute, the last hour: ${summary}">
      ${minutes.map((minute, index) => bar(minute, index * STEP + (STEP - BAR) / 2, most))}
      <line class="axis" x1="0" x2="${minutes.length * STEP}" y1="${HEIGHT + 1}" y2="${HEIGHT + 1}"></line>
    </svg>
    <ul class="legend">
      <li><svg class="key" viewBox="0 0 10 10" aria-hidden="true"><rect class="admitted" width="10" height="10"></rect></svg> admitted</li>
      <li><svg class="key" viewBox="0 0 10 10" aria-hidden="true"><rect class="rejected" width="10" height="10"></rect></svg> rejected, on top</li>
      <li><svg class="key" viewBox="0 0 10 10" aria-hidden="true"><rect class="unseen" y="6" width="10" height="4"></rect></svg> not observed</li>
      <li>highest minute: ${formatCount(most)}</li>
    </ul>`;
}

function bar({ start, admitted, rejected }: MinuteTraffic, x: number, most: number): Html {
  if (admitted === undefined)
    return html`<rect class="unseen" x="${x}" y="${HEIGHT - 4}" width="${BAR}" height="4"></rect>`;
  const [low, high] = [(admitted / most) * HEIGHT, (rejected / most) * HEIGHT];
  return html`<g><title>${formatInstant(start)}: ${admitted} admitted, ${rejected} rejected</title>
    <rect class="admitted" x="${x}" y="${(HEIGHT - low).toFixed(1)}" width="${BAR}" height="${low.toFixed(1)}"></rect>
    <rect class="rejected" x="${x}" y="${(HEIGHT - low - high).toFixed(1)}" width="${BAR}" height="${high.toFixed(1)}"></rect></g>`;
}
