import { html } from "hono/html";
import { formatCount } from "../../core/text.ts";
import { parseHostname } from "../../domains/hostname.ts";
import { PROPAGATION } from "../../domains/verification/advice.ts";
import type { HostToVerify } from "../../domains/verification/verify.ts";
import { changeForm, type FormResult, fieldOf, formDialog } from "../form.ts";
import {
  type Column,
  type ConsoleRequest,
  type Html,
  type Notice,
  panel,
  pathOf,
  sendPage,
  table,
  type View,
} from "../page.ts";
import type { HostsProblem } from "./domains-document.ts";
import {
  type DomainsContext,
  type HostsSnapshot,
  type KnownHosts,
  primaryOf,
  ROLE_NAMES,
} from "./host-source.ts";
import { stackAddition } from "./stack.ts";
import { hostState } from "./verification.ts";

/** Sends the list of domains. */
export async function sendDomainsPage(
  c: ConsoleRequest,
  context: DomainsContext,
  result?: FormResult,
): Promise<Response> {
  const view = c.get("view");
  const { name, kind, read } = context.source;
  const snapshot = await read();
  const content = snapshot.ok
    ? html`<section class="panel flush" aria-label="All domains">${hostTable(view, context, snapshot)}</section>
        ${kind === "file" ? addPanel(view, snapshot, result) : stackAddition(view, snapshot.hosts, c.req.query(), result)}`
    : problemsPanel(name, snapshot.problems);
  const body = html`<div class="head">
      <div>
        <h1>Domains</h1>
        <p>Project settings: the hosts in <code>${name}</code>. ${PROPAGATION}</p>
      </div>
    </div>
    ${content}`;
  return sendPage(c, { title: "Domains", body, notice: result?.notice ?? removedNotice(c, snapshot) });
}

function addPanel(view: View, snapshot: KnownHosts, result?: FormResult): Html {
  const primary = primaryOf(snapshot);
  const options = [
    ["alias", `Serves the same as ${primary}`],
    ["redirect", `Redirects to ${primary} (301)`],
  ] as const;
  const role = { name: "role", label: "What it does", hint: "It can be changed later.", options };
  const fields = html`<input type="hidden" name="version" value="${snapshot.version}">
    ${fieldOf("add", { name: "host", label: "Domain or subdomain", hint: "Such as orders.example.com" }, result)}
    ${primary === undefined ? html`<input type="hidden" name="role" value="primary">` : fieldOf("add", role, result)}
    <div><button class="main">Add domain</button></div>`;
  const form = changeForm(view, pathOf(view, "domains"), html`<div class="form narrow">${fields}</div>`);
  const first = html`<p class="quiet">The first domain becomes the primary. Until then only the platform's own host is
    served.</p>`;
  return panel("add", "Add domain", html`${primary === undefined ? first : ""}${form}`);
}

/** The notice after the removal of a host. */
function removedNotice(c: ConsoleRequest, snapshot: HostsSnapshot): Notice | undefined {
  const parsed = parseHostname(c.req.query("removed") ?? "");
  if (!parsed.ok || !snapshot.ok || snapshot.hosts.some(({ host }) => host === parsed.hostname))
    return undefined;
  const message = `${parsed.hostname} has been removed and is not served any more. Remove its record at the DNS provider as well, so that no record points here.`;
  return { kind: "success", message };
}

/** Sends the page of a console that was started without domains. */
export function sendHowToStart(c: ConsoleRequest): Promise<Response> {
  const commands = `store-orders console --domains domains.yaml --plan pro --target HOST
pulumi stack output domains --json | store-orders console --stack -`;
  const body = html`<div class="head"><div><h1>Domains</h1><p>This console was started without domains.</p></div></div>
    ${panel(
      "start",
      "Start it with domains",
      html`<p>Stop the console with Ctrl-C. With the file of <code>serve --domains</code>, the page shows its domains, verifies and
          changes them; <code>HOST</code> is the host name of the platform, which the records point to. With the outputs of a
          stack, it verifies them, and shows what to write into the stack file.</p>
        <pre tabindex="0" role="region" aria-label="Commands">${commands}</pre>`,
    )}`;
  return sendPage(c, { title: "Domains", body });
}

/** The most hosts on the page. */
const MAX_ROWS = 200;

/** The hosts with their state. */
function hostTable(view: View, { source, progress }: DomainsContext, snapshot: KnownHosts): Html {
  const { hosts } = snapshot;
  const more = hosts.length - MAX_ROWS;
  const primary = primaryOf(snapshot);
  const isStack = source.kind === "stack";
  const rows = hosts.slice(0, MAX_ROWS).map((host) => {
    const { host: name, role, stack } = host;
    const href = pathOf(view, "domains", name);
    const redirect = html`<div>Redirect <span class="quiet small">301 to ${primary}</span></div>`;
    const advice = html`<div class="small">${stack?.reason ?? ""} <span class="quiet">${stack?.next.join(" ") ?? ""}</span></div>`;
    const cells = [
      html`<a href="${href}" title="${name}">${name}</a>`,
      role === "redirect" ? redirect : ROLE_NAMES[role],
      hostState(host, progress.of(name)),
      ...(isStack ? [advice] : []),
      source.kind === "file" ? removeDialog(view, host, snapshot, "list") : "",
    ];
    return { id: `host-${name}`, cells };
  });
  const columns: readonly Column[] = [
    ["Domain", "name"],
    ["Role", "wide"],
    ["State"],
    ...(isStack ? ([["Reason and next step", "wide text"]] as const) : []),
    ["Actions"],
  ];
  return html`${table(columns, rows, "There is no domain yet: only the platform's own host is served.")}
    ${more > 0 ? html`<p class="quiet small">And ${formatCount(more)} more, which are served as well.</p>` : ""}`;
}

/** More than anybody reads at once. */
const MAX_PROBLEMS = 20;

/** The problems of the file or the outputs, each with its position. Nothing can be changed until they are fixed. */
export function problemsPanel(name: string, problems: readonly HostsProblem[]): Html {
  const more = problems.length - MAX_PROBLEMS;
  const count = problems.length === 1 ? "an error" : `${problems.length} errors`;
  return panel(
    "problems",
    html`<code>${name}</code> has ${count}`,
    html`<ul class="problems">${problems.slice(0, MAX_PROBLEMS).map(problemLine)}</ul>
      ${more > 0 ? html`<p class="quiet">And ${more} more.</p>` : ""}
      <p class="quiet">The console writes nothing until this is fixed. This page follows the file.</p>`,
  );
}

function problemLine({ line, column, path, message }: HostsProblem): Html {
  return html`<li>
    ${line === undefined ? "" : html`<strong class="number">Line ${line}, column ${column}</strong>`}
    ${path === "" ? "" : html`<code>${path}</code>`}
    <span>${message}</span>
  </li>`;
}

/** The button that removes a host, which asks once. The primary can only be removed last. */
export function removeDialog(
  view: View,
  { host, role }: HostToVerify,
  { version, hosts }: KnownHosts,
  place: "list" | "host",
): Html {
  if (role === "primary" && hosts.length > 1) {
    return place === "list"
      ? html``
      : html`<span class="quiet small">Make another domain the primary to remove this one.</span>`;
  }
  return formDialog(view, pathOf(view, "domains", host, "remove"), {
    ...{ id: `remove-${host}`, opener: "Remove…", title: "Remove the domain?" },
    ...{ confirm: "Remove domain", isDanger: true },
    fields: html`<input type="hidden" name="version" value="${version}">
      <p><strong class="host">${host}</strong> is not served any more from the next request on.</p>
      <p class="quiet small">Remove its record at the DNS provider as well, so that no record points here.</p>`,
  });
}
