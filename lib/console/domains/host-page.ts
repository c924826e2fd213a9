import { html } from "hono/html";
import { formatDuration } from "../../core/text.ts";
import type { Instant } from "../../core/time.ts";
import { showHost } from "../../domains/hostname.ts";
import { type DnsRecord, RECORD_TTL_SECONDS, recordsAt } from "../../domains/records.ts";
import { REASONS, type Reason, withoutImplied } from "../../domains/status/reasons.ts";
import { CERTIFICATE_TIMEOUT_MS } from "../../domains/status/status.ts";
import { describeProgress, PROPAGATION, type ProgressStep, stepsFor } from "../../domains/status/steps.ts";
import type { HostToVerify } from "../../domains/status/verify.ts";
import { locateInZone } from "../../domains/zone.ts";
import { changeForm, type FormResult } from "../form.ts";
import {
  type ConsoleRequest,
  formatInstant,
  type Html,
  type Notice,
  panel,
  pathOf,
  sendPage,
  type View,
} from "../page.ts";
import { describeRole, problemsPanel, removeDialog, stateBadge, UNKNOWN_TARGET } from "./domains-page.ts";
import { type CheckedHost, DEPLOYMENT, type DomainsContext } from "./hosts.ts";

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
  progress.followOne(host);
  const checked = progress.of(name);
  const lead = html`${describeRole(host, snapshot)}. To change its role, edit <code>primary</code>, <code>aliases</code>
    and <code>redirects</code> in <code>${file.name}</code>.`;
  const actions = html`${stateBadge(host, checked)}${removeDialog(view, host, snapshot)}`;
  const body = html`<div class="columns">
      ${recordPanel(host, checked?.seen.records)}
      ${verificationPanel(view, host, checked, context.clock())}
    </div>`;
  const isRunning = checked === undefined && host.target !== undefined;
  const notice = result?.notice ?? addedNotice(c, host);
  return sendPage(c, { ...page, lead, actions, body, isRunning, notice });
}

function addedNotice(c: ConsoleRequest, { host, target }: HostToVerify): Notice | undefined {
  if (c.req.query("added") === undefined) return undefined;
  const next =
    target === undefined ? "" : " Set its record at the DNS provider: this page shows when it is right.";
  const message = `${host} has been added: a running server knows it from the next request on.${next}`;
  return { kind: "success", message };
}

/** The records to set at the DNS provider, with buttons that copy names and values. Without a target, their zone is a guess. */
function recordPanel(host: HostToVerify, found: readonly DnsRecord[] | undefined): Html {
  const { target, zone } = host;
  const zones = zone === undefined ? [] : [zone];
  const records = target === undefined ? recordsAt(locateInZone(host.host, zones), host, "") : (found ?? []);
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
  const title = `${records.length > 1 ? "Records" : "Record"} to set at the DNS provider`;
  const body = records.length === 0 ? html`<p>DNS is asked which zone the host is in.</p>` : html`${lists}`;
  return panel("record", title, body);
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

function verificationPanel(
  view: View,
  host: HostToVerify,
  checked: CheckedHost | undefined,
  now: Instant,
): Html {
  if (host.target === undefined) return panel("verification", "Verification", html`<p>${UNKNOWN_TARGET}</p>`);
  const again = checked?.status.state === "needs_attention" ? "Re-verify" : "Verify again";
  const button = html`<button class="main">${again}</button>`;
  const actions = changeForm(view, pathOf(view, "domains", host.host, "verify"), button);
  const body =
    checked === undefined
      ? html`<p>The host is being looked up. ${PROPAGATION}</p>`
      : html`<p class="small">Looked up at <span class="number">${formatInstant(checked.observedAt)}</span>.</p> ${result(checked, now)}`;
  return panel("verification", "Verification", body, { actions });
}

function result(checked: CheckedHost, now: Instant): Html {
  const { reasons, notes } = checked.seen;
  const todo = stepsFor(checked, DEPLOYMENT);
  return html`<ol class="steps" aria-label="Progress">${describeProgress(checked).map((step) => progressStep(step, checked))}</ol>
    ${deadline(checked, now)}
    ${withoutImplied(reasons).map(reasonCard)}
    ${notes.map((note) => html`<p class="small">${note}</p>`)}
    ${todo.length === 0 ? "" : html`<h3>What to do</h3><ol class="plain-list">${todo.map((step) => html`<li>${step}</li>`)}</ol>`}`;
}

const STATUS_NAMES: Readonly<Record<ProgressStep["status"], readonly [mark: string, name: string]>> = {
  done: ["✓", "done"],
  current: ["…", "in progress"],
  failed: ["✕", "failed"],
  next: ["", "not reached"],
};

function progressStep({ name, status, detail }: ProgressStep, checked: CheckedHost): Html {
  const [mark, word] = STATUS_NAMES[status];
  const { verifiedAt } = checked.status;
  const at = name === "verified" && verifiedAt !== undefined ? formatInstant(verifiedAt) : "";
  return html`<li class="${status}"${status === "current" ? html` aria-current="step"` : ""}>
    <span class="mark" aria-hidden="true">${mark}</span>
    <span><strong>${name}</strong> <span class="sr">${word}</span>
    <span class="quiet small detail">${[at, detail].filter(Boolean).join("; ")}</span></span>
  </li>`;
}

function deadline({ status: { state, verifiedAt } }: CheckedHost, now: Instant): Html | "" {
  if (verifiedAt === undefined || (state !== "verified" && state !== "certificate_pending")) return "";
  const left = formatDuration(verifiedAt + CERTIFICATE_TIMEOUT_MS - now);
  return html`<p class="small">A certificate may take 30 minutes after verification. <span class="number">${left}</span>
    left; then the domain needs attention, and Re-verify starts a new attempt.</p>`;
}

function reasonCard({ code, found, expected }: Reason): Html {
  return html`<div class="reason">
    <h3>${REASONS[code].title}</h3>
    <dl class="facts">
      <dt>Found</dt><dd><code>${found}</code></dd>
      <dt>Expected</dt><dd><code>${expected}</code></dd>
    </dl>
  </div>`;
}
