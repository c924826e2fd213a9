import { html } from "hono/html";
import { type Account, type ApiKey, isActive } from "../../accounts/account.ts";
import { type KeyState, keyStateAt } from "../../accounts/account-usage.ts";
import type { Instant } from "../../clock.ts";
import { changeForm, dialogButton, fieldOf } from "../form.ts";
import { type Html, pathOf, type View } from "../section.ts";
import { formatDuration, formatInstant } from "../text.ts";

const LEVELS: Readonly<Record<KeyState, string>> = {
  active: "good",
  banned: "bad",
  revoked: "calm",
  expired: "calm",
};

const OVERLAPS = ["0h", "1h", "24h", "168h", "720h", "2160h"].map((value) => {
  const hours = Number.parseInt(value, 10);
  return [
    `${hours * 3_600_000}`,
    hours === 0 ? "none: the old key stops now" : formatDuration(hours * 3_600_000),
  ] as const;
});

/** The keys of an account, active ones first, with what can be done to each. */
export function keyTable(view: View, account: Account, now: Instant): Html {
  if (account.keys.length === 0) return html`<p class="empty">The account has no key yet.</p>`;
  const keys = [...account.keys].sort((a, b) => Number(isActive(b, now)) - Number(isActive(a, now)));
  return html`<table>
    <thead><tr>
      <th scope="col">Key</th><th scope="col">State</th><th scope="col">Created</th><th scope="col">Expires</th>
      <th scope="col"><span class="sr">Actions</span></th>
    </tr></thead>
    <tbody>${keys.map((key) => keyRow(view, account, key, now))}</tbody>
  </table>`;
}

function keyRow(view: View, account: Account, key: ApiKey, now: Instant): Html {
  const bannedUntil = account.rejections[key.id]?.bannedUntil ?? 0;
  const state = keyStateAt(key, bannedUntil, now);
  const end = key.revokedAt ?? key.expiresAt;
  return html`<tr id="key-${key.id}">
    <th scope="row"><code>${key.id}</code></th>
    <td data-label="State"><div><span class="badge ${LEVELS[state]}">${state}</span>
      ${state === "banned" ? html`<span class="quiet small number">${formatDuration(bannedUntil - now)} left</span>` : ""}</div></td>
    <td data-label="Created" class="number">${formatInstant(key.createdAt)}</td>
    <td data-label="${key.revokedAt === undefined ? "Expires" : "Revoked"}" class="number">${end === undefined ? "never" : formatInstant(end)}</td>
    <td><div class="actions">${isActive(key, now) ? keyActions(view, account, key, state) : ""}</div></td>
  </tr>`;
}

function keyActions(view: View, account: Account, { id, successorId }: ApiKey, state: KeyState): Html {
  const action = (name: string) => pathOf(view, "accounts", account.id, "keys", id, name);
  const unban = changeForm(view, action("unban"), html`<button>Lift ban</button>`);
  const overlap = {
    name: "overlap",
    label: "Overlap",
    hint: "How long both keys work.",
    options: OVERLAPS,
    value: "86400000",
  };
  const rotate = changeForm(
    view,
    action("rotate"),
    html`${fieldOf(`rotate-${id}`, overlap)}
      <div class="actions"><button class="main">Rotate key</button> <button type="button" data-close>Cancel</button></div>`,
    "form",
  );
  const revoke = changeForm(
    view,
    action("revoke"),
    html`<p>The key <code>${id}</code> stops working at its next request. This cannot be undone.</p>
      <div class="actions"><button class="danger">Revoke key</button> <button type="button" data-close>Cancel</button></div>`,
  );
  return html`${state === "banned" ? unban : ""}
    ${successorId === undefined ? dialogButton(`rotate-dialog-${id}`, "Rotate…", "Rotate the key", rotate) : ""}
    ${dialogButton(`revoke-dialog-${id}`, "Revoke…", "Revoke the key?", revoke)}`;
}
