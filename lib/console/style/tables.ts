/** Tables, which become cards in a narrow window, and what their cells show. */
export const TABLES = `
table { border-collapse: collapse; width: 100%; }
th { color: var(--quiet); font-size: 13px; font-weight: 500; text-align: left; vertical-align: bottom; white-space: nowrap; }
th, td { border-top: 1px solid var(--line); padding: 12px 12px; }
thead th { border-top: 0; padding-bottom: 8px; padding-top: 8px; }
tbody td, tbody th { vertical-align: top; }
tbody th { color: var(--ink); font-size: 15px; font-weight: 600; }
:is(th, td):first-child { padding-left: 24px; }
:is(th, td):last-child { padding-right: 24px; }
:is(th, td).right { text-align: right; }
.flush > table:first-child thead th { border-top: 0; padding-top: 14px; }
.empty { color: var(--quiet); padding: 24px; }
.usage { min-width: 150px; }
.usage .bar { display: block; height: 6px; margin: 6px 0 5px; width: 100%; }
.bar .track { fill: var(--sunken); }
.bar .fill { fill: var(--accent); }
.bar.high .fill { fill: var(--warn); }
.bar.full .fill { fill: var(--bad); }
.chart { display: block; height: auto; max-width: 100%; width: 100%; }
.chart .admitted, .key .admitted { fill: var(--accent); }
.chart .rejected, .key .rejected { fill: var(--bad); }
.chart .unseen, .key .unseen { fill: var(--line); }
.key { height: 10px; width: 10px; }
.legend { list-style: none; }
.chart .axis { stroke: var(--strong-line); }
.legend { color: var(--quiet); display: flex; flex-wrap: wrap; font-size: 13px; gap: 4px 16px; }
.counts { display: flex; flex-wrap: wrap; gap: 8px 48px; }
.counts dt { color: var(--quiet); font-size: 13px; }
.counts dd { font-size: 26px; font-weight: 650; letter-spacing: -0.015em; line-height: 1.2; }
.panel > .pager { border-top: 1px solid var(--line); margin-top: 0; padding: 12px 24px; }
.even tbody :is(td, th) { vertical-align: middle; }
.even td > .actions { margin-block: -5px; }
.events { display: grid; gap: 12px; list-style: none; }
.events li { align-items: center; display: flex; flex-wrap: wrap; gap: 8px 16px; }
.events button:not([popover] *) { min-width: 96px; }
.badge { border: 1px solid currentColor; border-radius: 99px; display: inline-block; font-size: 13px; line-height: 1.3; padding: 1px 9px; white-space: nowrap; }
.badge.good { background: var(--good-ground); color: var(--good); }
.badge.warn { background: var(--warn-ground); color: var(--warn); }
.badge.bad { background: var(--bad-ground); color: var(--bad); }
.badge.calm { background: var(--sunken); border-color: transparent; color: var(--quiet); }
@media (max-width: 760px) {
  table, tbody, tr, td, tbody th { display: block; }
  thead { clip-path: inset(50%); height: 1px; overflow: hidden; position: absolute; width: 1px; }
  tr { border-top: 1px solid var(--line); padding: 12px 16px; }
  tbody tr:first-child { border-top: 0; }
  tbody :is(td, th), tbody :is(td, th):first-child, tbody :is(td, th):last-child { border: 0; padding: 4px 0; text-align: left; }
  td[data-label] { display: grid; gap: 12px; grid-template-columns: 112px minmax(0, 1fr); justify-items: start; text-align: left; }
  td[data-label] > .usage { width: 100%; }
  td[data-label]::before { color: var(--quiet); content: attr(data-label); font-size: 13px; line-height: 22px; }
  .empty { padding: 16px; }
  .panel > .pager { padding: 12px 16px; }
  .even td > .actions { margin-block: 4px 0; }
}
`;
