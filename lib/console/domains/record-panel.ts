import { html } from "hono/html";
import { RECORD_TTL_SECONDS, recordOf } from "../../domains/records.ts";
import type { HostReport, HostToVerify } from "../../domains/verification/verify-hosts.ts";
import type { Html } from "../section.ts";

/** The record to set at the DNS provider, each value with a button that copies it. */
export function recordPanel(host: HostToVerify, knownZones: readonly string[], report?: HostReport): Html {
  const target = host.target;
  const known = report?.record?.value === target ? report?.record : undefined;
  const record = known ?? recordOf(host, target ?? "", knownZones);
  const { type, name, value, zone, alternatives } = record;
  const rows = [
    row("Type", "record-type", type, alternatives.length === 0 ? "" : `or ${alternatives.join(", or ")}`),
    row(
      "Name",
      "record-name",
      name,
      name === "@" ? `${zone} itself; some providers want it empty` : `in the zone ${zone}`,
    ),
    target === undefined ? UNKNOWN_TARGET : row("Value", "record-value", value, "exactly as written"),
    row("TTL", "record-ttl", `${RECORD_TTL_SECONDS}`, "seconds, one hour"),
  ];
  return html`<section class="panel" aria-labelledby="record-title">
    <h2 id="record-title">Record to set at the DNS provider</h2>
    <dl class="record">${rows}</dl>
    ${type === "CNAME" ? "" : APEX}
  </section>`;
}

const APEX = html`<p class="quiet small">An apex domain cannot have a CNAME record. Not every DNS provider has ALIAS or ANAME
  records: if yours has none, use a subdomain.</p>`;

const UNKNOWN_TARGET = html`<div><dt>Value</dt><dd>Not known. Start the console with <code>--target HOST</code>, the
  host name of the platform.</dd></div>`;

function row(label: string, id: string, value: string, hint: string): Html {
  return html`<div>
    <dt>${label}</dt>
    <dd><code id="${id}">${value}</code> <span class="quiet small">${hint}</span></dd>
    <dd><button type="button" data-copy="${id}" aria-label="Copy ${label.toLowerCase()}">Copy</button></dd>
  </div>`;
}
