import { html } from "hono/html";
import type { HostRole } from "../../domains/mapping.ts";
import type { HostToVerify } from "../../domains/verification/verify-hosts.ts";
import { changeForm, fieldOf, type Outcome } from "../form.ts";
import { type Notice, sendPage } from "../page.ts";
import { type ConsoleRequest, type Html, pathOf, type View } from "../section.ts";
import { ROLE_NAMES } from "./domains-source.ts";
import type { DomainsWork } from "./domains-work.ts";
import { problemsPanel } from "./file-problems.ts";
import { hostState } from "./host-state.ts";
import { type HostsSnapshot, primaryOf } from "./project-hosts.ts";
import { recordPanel } from "./record-panel.ts";
import { removeDialog } from "./remove-dialog.ts";
import { stackRemoval, stackStatusPanel } from "./stack-panels.ts";
import { verificationPanel } from "./verification-panel.ts";

/** Sends the page of one host. While it is on screen, a host on its way to live is verified again and again. */
export async function sendHostPage(
  c: ConsoleRequest,
  work: DomainsWork,
  name: string,
  outcome?: Outcome,
): Promise<Response> {
  const view = c.get("view");
  const snapshot = await work.hosts.read();
  const back = html`<a class="crumb" href="${pathOf(view, "domains")}">← All domains</a>`;
  if (!snapshot.ok) {
    const body = html`<div>${back}<h1>${name}</h1></div>${problemsPanel(work.hosts.name, snapshot.problems)}`;
    return sendPage(c, { title: "Domains", body, notice: outcome?.notice });
  }
  const host = snapshot.hosts.find((each) => each.host === name);
  if (host === undefined) {
    const body = html`<div>${back}<h1>No such domain</h1><p><code>${name}</code> is not one of the domains.</p></div>`;
    return sendPage(c, { title: "No such domain", body, notice: outcome?.notice, status: 404 });
  }
  work.progress.continue(host);
  const checked = work.progress.of(name);
  const { source, clock } = work;
  const body = html`<div class="head">
      <div>${back}<h1>${name}</h1>
        <p>${ROLE_NAMES[host.role]}${host.role === "redirect" ? html` to ${primaryOf(snapshot)}, with status 301` : ""}</p></div>
      <div class="actions">${hostState(host, checked)}${source === "file" ? removeDialog(view, host, snapshot, "host") : ""}</div>
    </div>
    ${host.stack === undefined ? "" : stackStatusPanel(host.stack)}
    <div class="columns">
      ${recordPanel(host, snapshot.knownZones, checked?.report)}
      ${verificationPanel(view, host, checked, { source, clock })}
    </div>
    ${source === "file" ? rolePanel(view, host, snapshot, outcome) : stackRemoval(host, snapshot.hosts)}`;
  return sendPage(c, { title: name, body, notice: outcome?.notice ?? addedNotice(c, host) });
}

/** What the form that added the host leads to. */
function addedNotice(c: ConsoleRequest, { host, target }: HostToVerify): Notice | undefined {
  if (c.req.query("added") === undefined) return undefined;
  const next = target === undefined ? "" : " Set its record at the DNS provider, then choose Verify.";
  return {
    kind: "success",
    message: `${host} has been added: a running server knows it from the next request on.${next}`,
  };
}

const ROLE_OPTIONS: readonly (readonly [HostRole, string])[] = [
  ["primary", "Primary: serves, and redirects lead here"],
  ["alias", "Alias: serves the same as the primary"],
  ["redirect", "Redirect: leads to the primary (301)"],
];

function rolePanel(
  view: View,
  { host, role }: HostToVerify,
  snapshot: Extract<HostsSnapshot, { ok: true }>,
  outcome?: Outcome,
): Html {
  const title = html`<h2 id="role-title">Role</h2>`;
  if (role === "primary") {
    return html`<section class="panel" aria-labelledby="role-title">${title}
      <p class="quiet">There is always one primary. To change it, make another domain the primary: this one then becomes an alias.</p></section>`;
  }
  return html`<section class="panel" aria-labelledby="role-title">${title}
    ${changeForm(
      view,
      pathOf(view, "domains", host, "role"),
      html`<input type="hidden" name="version" value="${snapshot.version}">
        ${fieldOf("role", { name: "role", label: "What it does", options: ROLE_OPTIONS, value: role }, outcome)}
        <div><button>Change role</button></div>`,
      "form row",
    )}</section>`;
}
