import { html } from "hono/html";
import { showHost } from "../../domains/hostname.ts";
import { type DnsRecord, RECORD_TTL_SECONDS } from "../../domains/records.ts";
import { explainZone } from "../../domains/status/facts.ts";
import type { HostToVerify } from "../../domains/status/verify.ts";
import type { FormResult } from "../form.ts";
import { type ConsoleRequest, type Html, type Notice, panel, sendPage } from "../page.ts";
import { describeRole, problemsPanel, removeDialog } from "./domains-page.ts";
import type { DomainsContext } from "./hosts.ts";
import { notesOf, stateBadge, verificationPanel } from "./verification.ts";

/** Sends the page of one host, which is looked up again and again while it is on screen. */
export async function sendHostPage(
  c: ConsoleRequest,
  context: DomainsContext,
  name: string,
  result?: FormResult,
): Promise<Response> {
  const view = c.get("view");
  const { file, progress } = context;
  const snapshot = file.read();
  const page = { back: "domains", title: showHost(name), notice: result?.notice };
  if (!snapshot.ok) return sendPage(c, { ...page, body: problemsPanel(file.name, snapshot.problems) });
  const host = snapshot.hosts.find((each) => each.host === name);
  if (host === undefined) {
    const lead = html`<code>${name}</code> is not one of the domains.`;
    return sendPage(c, { ...page, title: "No such domain", lead, status: 404 });
  }
  progress.follow([host]);
  const checked = progress.of(name);
  const lead = html`${describeRole(host, snapshot)}. To change its role, edit <code>primary</code>, <code>aliases</code>
    and <code>redirects</code> in <code>${file.name}</code>.`;
  const actions = html`${stateBadge(host, checked)}${removeDialog(view, host, snapshot)}`;
  const body = html`<div class="columns">
      ${recordPanel(host, await progress.records(host), checked === undefined)}
      ${verificationPanel(view, host, checked, context.clock())}
    </div>`;
  const isRunning = checked === undefined && host.target !== undefined;
  return sendPage(c, {
    ...page,
    lead,
    actions,
    body,
    isRunning,
    notice: result?.notice ?? addedNotice(c, host),
  });
}

function addedNotice(c: ConsoleRequest, { host, target }: HostToVerify): Notice | undefined {
  if (c.req.query("added") === undefined) return undefined;
  const next =
    target === undefined ? "" : " Set its record at the DNS provider: this page shows when it is right.";
  const message = `${host} has been added: a running server knows it from the next request on.${next}`;
  return { kind: "success", message };
}

/** The records to set at the DNS provider, with buttons that copy names and values. Their zone may be a guess. */
function recordPanel({ target }: HostToVerify, records: readonly DnsRecord[], showsNotes: boolean): Html {
  const lists = records.map(({ type, name, zone, value, alternatives }, index) => {
    const place = name === "@" ? `${zone} itself; some providers want it empty` : `in the zone ${zone}`;
    const id = (part: string) => (index === 0 ? `record-${part}` : `record-${part}-${index + 1}`);
    const others = alternatives.length === 0 ? "" : `or ${alternatives.join(", or ")}`;
    return html`<dl class="record">
      ${row("Type", undefined, type, others)}
      ${row("Name", id("name"), name, place)}
      ${target === undefined ? UNKNOWN_VALUE : row("Value", id("value"), value, "exactly as written")}
      ${row("TTL", undefined, `${RECORD_TTL_SECONDS}`, "seconds, one hour")}
    </dl>${type === "ALIAS" || type === "ANAME" ? APEX : ""}`;
  });
  const notes = showsNotes ? notesOf(records.slice(0, 1).flatMap(explainZone)) : "";
  const title = `${records.length === 1 ? "Record" : "Records"} to set at the DNS provider`;
  return panel("record", title, html`${lists}${notes}`);
}

const APEX = html`<p class="quiet small">An apex domain cannot have a CNAME record. Not every DNS provider has ALIAS or ANAME
  records: if yours has none, use a subdomain.</p>`;

const UNKNOWN_VALUE = html`<div><dt>Value</dt><dd>Not known; see Verification.</dd></div>`;

/** @param id that of the value, if it can be copied */
function row(label: string, id: string | undefined, value: string, hint: string): Html {
  return html`<div>
    <dt>${label}</dt>
    <dd><code${id && html` id="${id}"`}>${value}</code> <span class="quiet small">${hint}</span></dd>
    ${id && html`<dd><button type="button" data-copy="${id}" aria-label="Copy ${label.toLowerCase()}">Copy</button></dd>`}
  </div>`;
}
