import { html } from "hono/html";
import { parseHostname } from "../../domains/hostname.ts";
import { PROPAGATION } from "../../domains/verification/advice.ts";
import { changeForm, fieldOf, type Outcome } from "../form.ts";
import { type Notice, sendPage } from "../page.ts";
import { type ConsoleRequest, type Html, pathOf, type View } from "../section.ts";
import type { DomainsWork } from "./domains-work.ts";
import { problemsPanel } from "./file-problems.ts";
import { hostTable } from "./host-table.ts";
import { type HostsSnapshot, primaryOf } from "./project-hosts.ts";
import { stackAddition } from "./stack-panels.ts";

/** Sends the list of domains. */
export async function sendDomainsPage(
  c: ConsoleRequest,
  work: DomainsWork,
  outcome?: Outcome,
): Promise<Response> {
  const view = c.get("view");
  const snapshot = await work.hosts.read();
  const body = html`<div class="head">
      <div>
        <h1>Domains</h1>
        <p>Project settings: the hosts in <code>${work.hosts.name}</code>. ${PROPAGATION}</p>
      </div>
    </div>
    ${snapshot.ok ? content(view, work, snapshot, c.req.query(), outcome) : problemsPanel(work.hosts.name, snapshot.problems)}`;
  return sendPage(c, { title: "Domains", body, notice: outcome?.notice ?? removedNotice(c, snapshot) });
}

function content(
  view: View,
  work: DomainsWork,
  snapshot: Extract<HostsSnapshot, { ok: true }>,
  query: Readonly<Record<string, string>>,
  outcome?: Outcome,
): Html {
  const isFile = work.source === "file";
  return html`<section class="panel flush" aria-label="All domains">${hostTable(view, work, snapshot)}</section>
    ${isFile ? addPanel(view, snapshot, outcome) : stackAddition(view, snapshot.hosts, query)}`;
}

function addPanel(view: View, snapshot: Extract<HostsSnapshot, { ok: true }>, outcome?: Outcome): Html {
  const primary = primaryOf(snapshot);
  const options = [
    ["alias", `Serves the same as ${primary}`],
    ["redirect", `Redirects to ${primary} (301)`],
  ] as const;
  const fields = html`<input type="hidden" name="version" value="${snapshot.version}">
    ${fieldOf("add", { name: "host", label: "Domain or subdomain", hint: "Such as orders.example.com" }, outcome)}
    ${
      primary === undefined
        ? html`<input type="hidden" name="role" value="primary">`
        : fieldOf(
            "add",
            { name: "role", label: "What it does", hint: "It can be changed later.", options },
            outcome,
          )
    }
    <div><button class="main">Add domain</button></div>`;
  return html`<section class="panel" aria-labelledby="add-title">
    <h2 id="add-title">Add domain</h2>
    ${primary === undefined ? html`<p class="quiet">The first domain becomes the primary. Until then only the platform's own host is served.</p>` : ""}
    ${changeForm(view, pathOf(view, "domains"), html`<div class="form narrow">${fields}</div>`)}
  </section>`;
}

/** What the form that removed a host leads to. */
function removedNotice(c: ConsoleRequest, snapshot: HostsSnapshot): Notice | undefined {
  const parsed = parseHostname(c.req.query("removed") ?? "");
  if (!parsed.ok || !snapshot.ok || snapshot.hosts.some(({ host }) => host === parsed.hostname))
    return undefined;
  const message = `${parsed.hostname} has been removed and is not served any more. Remove its record at the DNS provider as well, so that no record points here.`;
  return { kind: "success", message };
}

/** Sends the page of a console that was started without domains. */
export function sendHowToStart(c: ConsoleRequest): Promise<Response> {
  const body = html`<div class="head"><div><h1>Domains</h1><p>This console was started without domains.</p></div></div>
    <section class="panel" aria-labelledby="file-title">
      <h2 id="file-title">With the file of <code>serve --domains</code></h2>
      <p>Stop the console with Ctrl-C and start it with the file. The page then shows its domains, verifies and changes them.</p>
      <pre tabindex="0" role="region" aria-label="Command with a file">store-orders console --domains domains.yaml --plan pro --target HOST</pre>
      <p class="quiet small"><code>--target</code> is the host name of the platform, which the records point to.</p>
    </section>
    <section class="panel" aria-labelledby="outputs-title">
      <h2 id="outputs-title">With the outputs of a stack</h2>
      <p>The page then shows the domains of the stack, verifies them, and shows what to write into the stack file.</p>
      <pre tabindex="0" role="region" aria-label="Command with a stack">pulumi stack output domains --json | store-orders console --stack -</pre>
    </section>`;
  return sendPage(c, { title: "Domains", body });
}
