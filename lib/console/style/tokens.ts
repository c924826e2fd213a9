/** Colours, sizes and spacing. Text has a contrast of at least 4.5 to 1 on every surface, in both themes. */
export const TOKENS = `
:root {
  color-scheme: light dark;
  --ground: light-dark(#f6f6f3, #131416);
  --surface: light-dark(#ffffff, #1b1d20);
  --sunken: light-dark(#efefeb, #24272b);
  --line: light-dark(#dfdfd8, #32363b);
  --strong-line: light-dark(#8a8a82, #757b84);
  --ink: light-dark(#1d1f22, #e9eaec);
  --quiet: light-dark(#5d6068, #a3a8b0);
  --accent: light-dark(#24518f, #9cc2f5);
  --on-accent: light-dark(#ffffff, #10213a);
  --good: light-dark(#1e6b45, #7fd0a6);
  --warn: light-dark(#8a5300, #efb766);
  --bad: light-dark(#a62b22, #ff9d93);
  --good-ground: light-dark(#e8f3ec, #1a2c23);
  --warn-ground: light-dark(#faf0de, #33291a);
  --bad-ground: light-dark(#fbeae8, #3a2220);
  --radius: 8px;
  --mono: ui-monospace, "SF Mono", SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "DejaVu Sans", sans-serif;
}
*, *::before, *::after { box-sizing: border-box; }
body { background: var(--ground); color: var(--ink); margin: 0; }
h1, h2, h3, p, ul, ol, dl, dd, figure { margin: 0; padding: 0; }
h1 { font-size: 26px; font-weight: 650; letter-spacing: -0.015em; line-height: 1.2; }
h2 { font-size: 17px; font-weight: 650; letter-spacing: -0.005em; line-height: 1.3; }
h3 { font-size: 15px; font-weight: 650; }
a { color: var(--accent); text-underline-offset: 3px; text-decoration-thickness: 1px; }
code, .mono { font-family: var(--mono); font-size: 0.92em; overflow-wrap: anywhere; }
.quiet { color: var(--quiet); }
.small { font-size: 13px; }
.number { font-variant-numeric: tabular-nums; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
#result:focus { outline: none; }
[hidden] { display: none !important; }
.sr { clip-path: inset(50%); height: 1px; overflow: hidden; position: absolute; white-space: nowrap; width: 1px; }
@media (prefers-reduced-motion: no-preference) { .bar rect { transition: width 0.3s; } }
`;
