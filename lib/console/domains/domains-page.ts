import { html } from "hono/html";
import { showHost } from "../../domains/hostname.ts";
import type { HostState } from "../../domains/status/status.ts";
import { causeOf, isUnanswered, PROPAGATION, stepsFor } from "../../domains/status/steps.ts";
import type { HostToVerify } from "../../domains/status/verify.ts";
import type { FileProblem } from "../../files/config-file.ts";
import { changeForm, type FormResult, fieldOf, formDialog } from "../form.ts";
import {
  type ConsoleRequest,
  type Html,
  itemLink,
  panel,
  pathOf,
  sendPage,
  table,
  type View,
} from "../page.ts";

import { type CheckedHost, DEPLOYMENT, type DomainsContext, type KnownHosts, primaryOf } from "./hosts.ts";

export async function sendDomainsPage(
  c: ConsoleRequest,
  context: DomainsContext,
  result?: FormResult,
): Promise<Response> {
  const view = { ...c.get("view"), list: "" };
  const { name, read } = context.file;
  const snapshot = read();
  const page = { title: "Domains", lead: leadOf(name) };
  if (!snapshot.ok) return sendPage(c, { ...page, body: problemsPanel(name, snapshot.problems) });
  const { progress } = context;
  progress.follow(snapshot.hosts);
  const lacksTarget = snapshot.hosts.some(({ target }) => target === undefined);
  const left = progress.countAwaited();
  const body = html`${lacksTarget ? panel("target", "Nothing can be verified", html`<p>${UNKNOWN_TARGET}</p>`) : ""}
    <section class="panel flush" aria-label="All domains">${hostRows(view, progress, snapshot)}</section>
    <p class="quiet" id="progress" aria-live="polite">${left === 0 ? "" : `${left} of ${snapshot.hosts.length} hosts are still to be looked up.`}</p>
    ${addPanel(view, snapshot, result)}`;
  const removed = c.req.query("removed");
  const removal = removed && ({ kind: "success", message: explainRemoval(removed) } as const);
  const all = changeForm(view, pathOf(view, "domains", "verify"), html`<button>Verify all</button>`);
  const actions = snapshot.hosts.length === 0 || lacksTarget ? html`` : all;
  const notice = result?.notice ?? (removal || undefined);
  return sendPage(c, { ...page, actions, body, isRunning: left > 0, notice });
}

const leadOf = (name: string): Html =>
  html`Project settings: the hosts in <code>${name}</code>. ${PROPAGATION}`;

/** What is left to do after a removal. The address names the host if it was removed on its own page. */
export function explainRemoval(host: string): string {
  return `${host} has been removed and is not served any more. Remove its record at the DNS provider as well, so that no record points here.`;
}

function addPanel(view: View, snapshot: KnownHosts, result?: FormResult): Html {
  const isFirst = primaryOf(snapshot) === undefined;
  const hint = html`<p class="quiet">The first domain becomes the primary. Until then only the platform's own host is served.</p>`;
  const role = fieldOf("add", { name: "role", label: "What it does", options: ROLES }, result);
  const fields = html`<input type="hidden" name="version" value="${snapshot.version}">
    ${fieldOf("add", { name: "host", label: "Domain or subdomain", hint: "Such as orders.example.com" }, result)}
    ${isFirst ? "" : role}
    <div><button class="main">Add domain</button></div>`;
  const form = changeForm(view, pathOf(view, "domains"), html`<div class="form narrow">${fields}</div>`);
  return panel("add", "Add domain", html`${isFirst ? hint : ""} ${form}`);
}

const ROLES = [
  ["alias", "Serves the same as the primary"],
  ["redirect", "Redirects to the primary (301)"],
] as const;

export function describeRole({ role }: HostToVerify, snapshot: KnownHosts): string {
  return { primary: "Primary", alias: "Alias", redirect: `Redirect to ${primaryOf(snapshot)} (301)` }[role];
}

function hostRows(view: View, progress: DomainsContext["progress"], snapshot: KnownHosts): Html {
  const rows = snapshot.hosts.map((each) => {
    const { host } = each;
    const link = html`${itemLink(view, "domains", host)} <div class="small">${showHost(host).slice(host.length)}</div>`;
    const checked = progress.of(host);
    const state = html`${stateBadge(each, checked)} <div class="small">${nextStep(checked)}</div>`;
    const cells = [link, describeRole(each, snapshot), state, removeDialog(view, each, snapshot)];
    return { id: `host-${host}`, cells };
  });
  return table(COLUMNS, rows, "There is no domain yet: only the platform's own host is served.");
}

const BADGES: Readonly<Record<HostState, readonly [level: string, text: string]>> = {
  pending_dns: ["warn", "Waiting for DNS"],
  verified: ["good", "Verified"],
  certificate_pending: ["warn", "Certificate pending"],
  live: ["good", "Live"],
  needs_attention: ["bad", "Needs attention"],
};

/** The state of a host as a badge, as this console has last seen it. */
export function stateBadge(host: HostToVerify, checked: CheckedHost | undefined): Html {
  if (checked === undefined) {
    const text = host.target === undefined ? "Not verified" : "Looking up…";
    return html`<span class="badge calm">${text}</span>`;
  }
  const [level, text] = isUnanswered(checked) ? ["warn", "DNS did not answer"] : BADGES[checked.status.state];
  return html`<span class="badge ${level}">${text}</span>`;
}

/** The cause of the state of a host, and what to do first. */
function nextStep(checked: CheckedHost | undefined): Html {
  if (checked === undefined) return html``;
  const cause = causeOf(checked) ?? "";
  // Unless it is the cause itself.
  const step = stepsFor(checked, DEPLOYMENT).find((each) => each !== cause) ?? "";
  return html`${cause && html`<strong>${cause}</strong>`} <span class="quiet">${step}</span>`;
}

const COLUMNS = [["Domain", "name"], ["Role", "wide"], ["State", "says"], ["Actions"]] as const;

/** The problems of the file, each with its position. Nothing can be changed until they are fixed. */
export function problemsPanel(name: string, problems: readonly FileProblem[]): Html {
  const count = problems.length === 1 ? "an error" : `${problems.length} errors`;
  const body = html`<ul class="problems">${problems.map(problemLine)}</ul>
      <p class="quiet">The console writes nothing until this is fixed. This page follows the file.</p>`;
  return panel("problems", html`<code>${name}</code> has ${count}`, body);
}

function problemLine({ line, column, path, message }: FileProblem): Html {
  return html`<li class="reason">
    ${line === undefined ? "" : html`<strong class="number">Line ${line}, column ${column}</strong>`}
    ${path === "" ? "" : html`<code>${path}</code>`}
    <span>${message}</span>
  </li>`;
}

/** Asks once. The primary can only be removed last. */
export function removeDialog(view: View, { host, role }: HostToVerify, { version, hosts }: KnownHosts): Html {
  const hint = html`<span class="quiet small">To remove it, make another domain the primary in the file.</span>`;
  if (role === "primary" && hosts.length > 1) return view.list === undefined ? hint : html``;
  return formDialog(view, pathOf(view, "domains", host, "remove"), {
    ...{ id: `remove-${host}`, opener: "Remove…", title: "Remove the domain?" },
    ...{ confirm: "Remove domain", isDanger: true },
    fields: html`<input type="hidden" name="version" value="${version}">
      <p><strong>${host}</strong> is not served any more from the next request on.</p>
      <p class="quiet small">Remove its record at the DNS provider as well, so that no record points here.</p>`,
  });
}

export const UNKNOWN_TARGET = html`The console does not know the host name of the platform, to which the records point, so it
  can verify no domain. Start it again with <code>--target HOST</code>, or for one machine with <code>--address IP</code>.`;
