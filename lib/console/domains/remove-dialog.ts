import { html } from "hono/html";
import type { HostToVerify } from "../../domains/verification/verify-hosts.ts";
import { changeForm, dialogButton } from "../form.ts";
import { type Html, pathOf, type View } from "../section.ts";
import type { HostsSnapshot } from "./project-hosts.ts";

/** The button that removes a host, which asks once. The primary can only be removed last. */
export function removeDialog(
  view: View,
  { host, role }: HostToVerify,
  { version, hosts }: Extract<HostsSnapshot, { ok: true }>,
  place: "list" | "host",
): Html {
  if (role === "primary" && hosts.length > 1) {
    return place === "list"
      ? html``
      : html`<span class="quiet small">Make another domain the primary to remove this one.</span>`;
  }
  const body = changeForm(
    view,
    pathOf(view, "domains", host, "remove"),
    html`<input type="hidden" name="version" value="${version}">
      <p><strong class="host">${host}</strong> is not served any more from the next request on.</p>
      <p class="quiet small">Remove its record at the DNS provider as well, so that no record points here.</p>
      <div class="actions"><button class="danger">Remove domain</button> <button type="button" data-close>Cancel</button></div>`,
  );
  return dialogButton(`remove-${host}`, "Remove…", "Remove the domain?", body);
}
