import { html } from "hono/html";
import type { StackStatus } from "../../domains/verification/stack-status.ts";
import type { HostToVerify } from "../../domains/verification/verify-hosts.ts";
import { fieldOf, type Outcome } from "../form.ts";
import { type Html, pathOf, type View } from "../section.ts";
import { formatInstant } from "../text.ts";
import { stateBadge } from "./host-state.ts";
import { stackLines } from "./stack-lines.ts";

/** What the stack said about a host in its last update. */
export function stackStatusPanel({ state, reason, next, since, until }: StackStatus): Html {
  return html`<section class="panel" aria-labelledby="stack-title">
    <h2 id="stack-title">In the stack's last update</h2>
    <dl class="facts">
      <dt>State</dt><dd>${stateBadge(state)}</dd>
      <dt>Reason</dt><dd>${reason}</dd>
      ${since === undefined ? "" : html`<dt>Requested</dt><dd class="number">${formatInstant(Date.parse(since))}</dd>`}
      ${until === undefined ? "" : html`<dt>ACM gives up</dt><dd class="number">${formatInstant(Date.parse(until))}</dd>`}
    </dl>
    ${next.length === 0 ? "" : html`<h3>Next</h3><ol class="plain-list">${next.map((step) => html`<li>${step}</li>`)}</ol>`}
  </section>`;
}

/** The lines that remove a host from the stack. */
export function stackRemoval({ host, role }: HostToVerify, hosts: readonly HostToVerify[]): Html {
  const result = stackLines(hosts, { kind: "remove", host });
  return html`<section class="panel" aria-labelledby="removal-title">
    <h2 id="removal-title">Remove this domain</h2>
    ${
      result.ok
        ? linesToCopy(result.lines, "stack-removal")
        : html`<p>${role === "primary" ? "Make another domain the primary first." : result.issues.map(({ message }) => message).join(" ")}</p>`
    }
  </section>`;
}

const ROLES = [
  ["alias", "Serves the same as the primary"],
  ["redirect", "Redirects to the primary (301)"],
  ["primary", "Becomes the primary; the present one becomes an alias"],
] as const;

/** Asks for a host, and shows the lines that add it to the stack. Changes nothing. */
export function stackAddition(
  view: View,
  hosts: readonly HostToVerify[],
  query: Readonly<Record<string, string>>,
): Html {
  const { host = "", role: asked = "" } = query;
  const isFirst = !hosts.some((each) => each.role === "primary");
  const role = isFirst ? "primary" : asked === "redirect" || asked === "primary" ? asked : "alias";
  const lines =
    query["host"] === undefined ? undefined : stackLines(demote(hosts, role), { kind: "add", host, role });
  const errors = lines?.ok === false ? { host: lines.issues.map(({ message }) => message).join(" ") } : {};
  const outcome: Outcome = { form: "stack", notice: { kind: "failure", message: "" }, errors, values: query };
  return html`<section class="panel" aria-labelledby="add-title">
    <h2 id="add-title">Add domain</h2>
    <p class="quiet">The stack file decides which domains there are. This shows what to write into it.</p>
    <form class="form narrow" method="get" action="${pathOf(view, "domains")}">
      ${fieldOf("stack", { name: "host", label: "Domain", hint: "Such as orders.example.com" }, outcome)}
      ${isFirst ? "" : fieldOf("stack", { name: "role", label: "What it does", options: ROLES }, outcome)}
      <div><button>Show lines</button></div>
    </form>
    ${lines?.ok === true ? linesToCopy(lines.lines, "stack-addition") : ""}
  </section>`;
}

/** A new primary makes the present one an alias. */
function demote(hosts: readonly HostToVerify[], role: string): readonly HostToVerify[] {
  if (role !== "primary") return hosts;
  return hosts.map((each) => (each.role === "primary" ? { ...each, role: "alias" } : each));
}

function linesToCopy(lines: string, id: string): Html {
  return html`<p>In <code>Pulumi.&lt;stack&gt;.yaml</code>, make <code>store-orders:domains</code> as follows, and keep the other
      lines under <code>config</code>. Then run <code>npx pulumi preview</code> and <code>npx pulumi up</code>.</p>
    <div class="lines"><pre id="${id}" tabindex="0" role="region" aria-label="Lines for the stack file">${lines}</pre>
      <button type="button" data-copy="${id}">Copy lines</button></div>`;
}
