import { html } from "hono/html";
import type { Html } from "../section.ts";
import type { FileProblem } from "./parse-file.ts";

/** More than anybody reads at once. */
const MAX_PROBLEMS = 20;

/** What is wrong with the file or the outputs, each with its place. Nothing can be changed until it is fixed. */
export function problemsPanel(name: string, problems: readonly FileProblem[]): Html {
  const more = problems.length - MAX_PROBLEMS;
  return html`<section class="panel" aria-labelledby="problems-title" id="problems">
    <h2 id="problems-title"><code>${name}</code> has ${problems.length === 1 ? "an error" : `${problems.length} errors`}</h2>
    <ul class="problems">${problems.slice(0, MAX_PROBLEMS).map(problemLine)}</ul>
    ${more > 0 ? html`<p class="quiet">And ${more} more.</p>` : ""}
    <p class="quiet">The console writes nothing until this is fixed. This page follows the file.</p>
  </section>`;
}

function problemLine({ line, column, path, message }: FileProblem): Html {
  return html`<li>
    ${line === undefined ? "" : html`<strong class="number">Line ${line}, column ${column}</strong>`}
    ${path === "" ? "" : html`<code>${path}</code>`}
    <span>${message}</span>
  </li>`;
}
