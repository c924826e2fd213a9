import { html } from "hono/html";
import type { HostToVerify } from "../../domains/verification/verify-hosts.ts";
import { type Html, pathOf, type View } from "../section.ts";
import { formatCount } from "../text.ts";
import { ROLE_NAMES } from "./domains-source.ts";
import type { DomainsWork } from "./domains-work.ts";
import { hostState } from "./host-state.ts";
import { type HostsSnapshot, primaryOf } from "./project-hosts.ts";
import { removeDialog } from "./remove-dialog.ts";

/** The most hosts on the page. */
const MAX_ROWS = 200;

/** The hosts with their state. */
export function hostTable(
  view: View,
  work: DomainsWork,
  snapshot: Extract<HostsSnapshot, { ok: true }>,
): Html {
  const { hosts } = snapshot;
  if (hosts.length === 0) {
    return html`<p class="empty">There is no domain yet: only the platform's own host is served.</p>`;
  }
  const more = hosts.length - MAX_ROWS;
  const primary = primaryOf(snapshot);
  return html`<table>
      <thead><tr>
        <th scope="col">Domain</th><th scope="col">Role</th><th scope="col">State</th>
        ${work.source === "stack" ? html`<th scope="col">Reason and next step</th>` : ""}
        <th scope="col"><span class="sr">Actions</span></th>
      </tr></thead>
      <tbody>${hosts.slice(0, MAX_ROWS).map((host) => hostRow(view, work, snapshot, host, primary))}</tbody>
    </table>
    ${more > 0 ? html`<p class="quiet small">And ${formatCount(more)} more, which are served as well.</p>` : ""}`;
}

function hostRow(
  view: View,
  { source, progress }: DomainsWork,
  snapshot: Extract<HostsSnapshot, { ok: true }>,
  host: HostToVerify,
  primary: string | undefined,
): Html {
  const href = pathOf(view, "domains", host.host);
  const role =
    host.role === "redirect"
      ? html`<div>Redirect <span class="quiet small">301 to ${primary}</span></div>`
      : ROLE_NAMES[host.role];
  return html`<tr id="host-${host.host}">
    <th scope="row" class="host"><a href="${href}">${host.host}</a></th>
    <td data-label="Role">${role}</td>
    <td data-label="State">${hostState(host, progress.of(host.host))}</td>
    ${source === "stack" ? html`<td data-label="Reason, next"><div class="small">${host.stack?.reason ?? ""} <span class="quiet">${host.stack?.next.join(" ") ?? ""}</span></div></td>` : ""}
    <td><div class="actions"><a class="button" href="${href}" aria-label="Open ${host.host}">Open</a>
      ${source === "file" ? removeDialog(view, host, snapshot, "list") : ""}</div></td>
  </tr>`;
}
