import { html } from "hono/html";
import type { Account, AccountSettings } from "../../accounts/account.ts";
import {
  type AccountView,
  explainUnknownPlan,
  type KeyView,
  type UsedQuota,
  viewAccount,
} from "../../accounts/account-view.ts";
import type { Environment } from "../../accounts/api-key.ts";
import { formatCount, formatDuration } from "../../core/text.ts";
import type { Instant } from "../../core/time.ts";
import { limitsOf, type PlanAssignment, type PlanTable } from "../../plans/plan-limits.ts";
import { DAY_MS } from "../../plans/windows.ts";
import { changeForm, type FormResult, fieldOf, formDialog } from "../form.ts";
import {
  type ConsoleDependencies,
  type ConsoleRequest,
  formatInstant,
  type Html,
  type Notice,
  panel,
  pathOf,
  sendPage,
  table,
  timeOf,
  type View,
} from "../page.ts";

export async function sendAccountPage(
  c: ConsoleRequest,
  { store, clock, plans, isMetered, environment, keysFor }: ConsoleDependencies,
  id: string,
  result?: FormResult,
): Promise<Response> {
  const view = c.get("view");
  keysFor.environment ??= await store.accounts.findEnvironment();
  const account = await store.accounts.find(id);
  const page = { back: "accounts", notice: result?.notice };
  if (account === undefined) {
    const lead = html`There is no account <code>${id}</code>.`;
    return sendPage(c, { ...page, title: "No such account", lead, status: 404 });
  }
  const now = clock();
  const known = viewAccount(account, now, plans);
  const { minute, day } = usageBars(known, now);
  const dialog = (name: string, settings: Omit<Parameters<typeof formDialog>[2], "id">) =>
    formDialog(view, pathOf(view, "accounts", id, name), { id: `${name}-dialog`, ...settings });
  const changePlan = dialog("plan", {
    ...{ opener: "Change plan…", title: "Change the plan", confirm: "Change plan" },
    fields: html`<p class="quiet small">A smaller plan takes effect at the next request, a larger one within a second.
      What has been counted stays counted.</p>${planFields("plan", plans, result, account)}`,
  });
  const expires = { name: "expiresAt", label: "Expires", hint: "Optional; at 00:00 UTC of this day." };
  const environmentFor = environmentField(keysFor.environment, environment, result);
  const issueKey = dialog("keys", {
    ...{ opener: "Issue key…", isMain: true, title: "Issue a key", confirm: "Issue key" },
    fields: html`${environmentFor("issue")}
      ${fieldOf("issue", { name: "name", label: "Name", hint: "Optional; such as its program." }, result)}
      ${fieldOf("issue", { ...expires, type: "date" }, result)}`,
  });
  const deletion = dialog("delete", {
    ...{ opener: "Delete account…", title: `Delete ${id}?`, confirm: "Delete account", isDanger: true },
    fields: html`<p>Its keys stop working at their next request. Orders stay. This cannot be undone.</p>
      ${fieldOf("delete", { name: "accountId", label: "Type the account ID" }, result)}`,
  });
  const usage = html`<div class="columns"><div><h3>This minute</h3>${minute}</div> <div><h3>Today (UTC)</h3>${day}</div></div>
    ${known.limits === undefined ? html`<p>${explainUnknownPlan(account)}</p>` : ""}`;
  const actionsOf = (key: KeyView) => keyActions(view, id, key, environmentFor, result);
  const keys = keyTable(known.keys, now, isMetered, actionsOf);
  const body = html`${panel("usage", "Usage", usage)}
    ${panel("keys", "Keys", keys, { layout: "flush cards", actions: issueKey })}
    ${panel("rejections", "Rejected requests (429)", rejectionList(account, now, plans))}`;
  const lead = html`Plan ${planName(account, plans)}`;
  const actions = html`${changePlan} ${deletion}`;
  const notice = result?.notice ?? arrivalNotice(account, c.req.query());
  return sendPage(c, { ...page, title: id, lead, actions, body, notice });
}

/** After a search for a key, or the creation of the account, as the address names it. */
function arrivalNotice({ id, keys }: Account, query: Readonly<Record<string, string>>): Notice | undefined {
  const { key, created } = query;
  if (keys.some((each) => each.id === key)) {
    const message = html`The key is <a href="#key-${key}"><code>${key}</code></a>.`;
    return { kind: "success", title: "Found.", message };
  }
  if (created === undefined || keys.length > 0) return undefined;
  return { kind: "success", message: `The account ${id} has been created. Issue its first key.` };
}

/** Says what a new key is for. For the first key of a store it is a choice, unless the console was started for one. */
function environmentField(recorded?: Environment, given?: Environment, result?: FormResult) {
  const known = recorded ?? given;
  const all = recorded === undefined ? ", and so will be all keys of this database" : "";
  const text = html`<p class="quiet small">The key is for <strong>${known}</strong>${all}.</p>`;
  const options = ["", "test", "live"].map((each) => [each, each || "Choose…"] as const);
  const hint = "All keys of this database will be for it: this is the first one.";
  const choice = { name: "environment", label: "Environment", hint, options };
  return (form: string): Html => (known === undefined ? fieldOf(form, choice, result) : text);
}

/** From this part of a limit on, the account is near it. */
export const HIGH = 0.8;

export function usageBars({ limits, minute, day }: AccountView, now: Instant) {
  if (limits !== undefined) return { minute: usageBar(minute, now), day: usageBar(day, now) };
  const count = ({ used }: UsedQuota) => html`<div class="usage number">
    <strong>${formatCount(used)}</strong> <span class="quiet">limit unknown</span></div>`;
  return { minute: count(minute), day: count(day) };
}

function usageBar({ limit, used, remaining, resetsAt }: UsedQuota, now: Instant): Html {
  const part = Math.min(1, used / limit);
  const level = remaining === 0 ? "full" : part >= HIGH ? "high" : "";
  return html`<div class="usage number">
    <span><strong>${formatCount(used)}</strong> <span class="quiet">of ${formatCount(limit)}</span></span>
    <svg class="bar ${level}" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
      <rect class="track" width="100" height="6" rx="1"></rect>
      <rect class="fill" width="${(part * 100).toFixed(1)}" height="6" rx="1"></rect>
    </svg>
    <span class="quiet small reset">${remaining === 0 ? "used up, " : ""}resets in ${formatDuration(resetsAt - now)}</span>
  </div>`;
}

function rejectionList(account: Account, now: Instant, plans: PlanTable): Html {
  const known = Object.entries(account.rejections).sort(([, a], [, b]) => b.windowStart - a.windowStart);
  const items = known.map(([id]) => html`<li>${describeRejections(account, id, now, plans)}</li>`);
  return html`${items.length === 0 ? html`<p>None are recorded for these keys.</p>` : html`<ul class="plain-list">${items}</ul>`}
    <p class="quiet small">The store keeps the last such minute of each key, until its ban is lifted. With the
      <code>--log-level</code> <code>info</code>, the default, the log of the service has a line for every rejected request: filter
      by the <code>keyId</code> and the <code>status</code> 429; its <code>limit</code> is the one that was exceeded.</p>`;
}

export function describeRejections(account: Account, id: string, now: Instant, plans: PlanTable) {
  const rejections = account.rejections[id];
  if (rejections === undefined) return undefined;
  const { windowStart, count, firstAt, bannedUntil } = rejections;
  const { limits, day } = viewAccount(account, now, plans);
  const other =
    " Today's limit is not used up, so it was the limit per minute, unless the plan has changed or the counts were reset since.";
  const cause = day.remaining === 0 ? " Today's limit is used up." : other;
  const name = account.keys.find((each) => each.id === id)?.name;
  const ban =
    bannedUntil &&
    html` Then the key was banned until <time>${formatInstant(bannedUntil)}</time>; requests
        during the ban are not counted. Tell its owner to wait as each 429 says: what their client does with a 429
        is in lib/client/retries.md.`;
  const isToday = windowStart >= now - (now % DAY_MS) && limits !== undefined;
  const [requests, were] = count === 1 ? ["request", "was"] : ["requests", "were"];
  const which = firstAt === undefined ? formatCount(count) : "some";
  const of = html`<a href="#key-${id}"><code>${id}</code></a> ${name === undefined ? "" : html`(${name})`}`;
  const early = " They came within ten seconds of the first one, and do not count towards a ban.";
  return html`${timeOf(windowStart, now)}: ${which} ${requests} of ${of}
    ${were} beyond a limit in the minute from <time>${formatInstant(windowStart)}</time>.${isToday ? cause : ""}${firstAt === undefined ? "" : early}${ban}`;
}

export function planName({ plan }: AccountSettings, plans: PlanTable): Html {
  const mark = Object.hasOwn(plans, plan) ? "" : html` <span class="badge warn">not in the plans</span>`;
  return html`<span>${plan}${mark}</span>`;
}

/** The fields that choose a plan. A plan that is not in the table stays selected until somebody chooses another one. */
export function planFields(form: string, plans: PlanTable, result?: FormResult, account?: Account): Html {
  const names = Object.keys(plans);
  const { plan = names[0] ?? "", customLimits } = account ?? {};
  const unknown = names.includes(plan) ? [] : [[plan, `${plan} (not in the plans)`] as const];
  const known = names.map((name) => {
    const limits = limitsOf({ plan: name }, plans);
    if (limits === undefined) return [name, `${name}: limits of its own`, true] as const;
    const { perMinute, perDay } = limits;
    return [name, `${name}: ${formatCount(perMinute)} a minute, ${formatCount(perDay)} a day`] as const;
  });
  const limitField = (name: "perMinute" | "perDay", label: string) => {
    const value = customLimits === undefined ? {} : { value: `${customLimits[name]}` };
    return fieldOf(form, { name, label, inputMode: "numeric", ...value }, result);
  };
  // The style sheet shows them with an option that needs them only.
  return html`${fieldOf(form, { name: "plan", label: "Plan", options: [...unknown, ...known], value: plan }, result)}
    <div class="form limits">${limitField("perMinute", "Requests per minute")}${limitField("perDay", "Requests per day")}</div>`;
}

/** Reads the fields of a plan, which the operation validates. Limits belong to a plan that has custom ones. */
export function readPlanFields(fields: FormResult["values"], plans: PlanTable): PlanAssignment<string> {
  const { plan = "", perMinute = "", perDay = "" } = fields;
  if (!Object.hasOwn(plans, plan) || plans[plan] !== "custom") return { plan };
  const isNumber = /^\s*(?:\d+|\d{1,3}(?:,\d{3})+)\s*$/;
  const readLimit = (text: string) => (isNumber.test(text) ? Number(text.replaceAll(",", "")) : Number.NaN);
  return { plan, customLimits: { perMinute: readLimit(perMinute), perDay: readLimit(perDay) } };
}

const LEVELS = { active: "good", banned: "bad", revoked: "calm", expired: "calm" } as const;

const OVERLAPS = [0, 1, 24, 168, 720, 2160].map((hours) => {
  const label = hours === 0 ? "none: the old key stops now" : formatDuration(hours * 3_600_000);
  return [`${hours * 3_600_000}`, label] as const;
});

type ActionsOf = (key: KeyView) => Html;

function keyTable(keys: readonly KeyView[], now: Instant, isMetered: boolean, actionsOf: ActionsOf): Html {
  const sorted = keys.toSorted((a, b) => Number(b.isActive) - Number(a.isActive));
  const rows = sorted.map((key) => {
    const left = key.status === "banned" ? `, ${formatDuration(key.bannedUntil - now)} left` : "";
    const cells = [
      html`${key.name === undefined ? "" : html`<span title="${key.name}">${key.name}</span><br>`}<code title="${key.id}">${key.id}</code>
        ${key.successorId === undefined ? "" : html`<br><span class="quiet small">${describeRotation(key)}</span>`}`,
      html`<span class="badge ${LEVELS[key.status]}">${key.status}${left}</span>`,
      timeOf(key.createdAt, now),
      // DynamoDB does not keep it.
      timeOf(key.lastUsedAt, now, isMetered ? "not kept" : "never used"),
      timeOf(key.revokedAt ?? key.expiresAt, now, "no end"),
      key.isActive ? actionsOf(key) : "",
    ];
    return { id: `key-${key.id}`, cells };
  });
  return table(KEY_COLUMNS, rows, "The account has no key yet, so it cannot call the API. Issue one.");
}

export function describeRotation({ successorId, expiresAt, isActive }: KeyView): Html {
  const valid = isActive && expiresAt ? html`, valid until <time>${formatInstant(expiresAt)}</time>` : "";
  return html`rotated${valid} → <a href="#key-${successorId}"><code>${successorId}</code></a>`;
}

const KEY_COLUMNS = [["Key", "name"], ["State"], ["Created"], ["Last used"], ["Ends"], ["Actions"]] as const;

function keyActions(
  view: View,
  accountId: string,
  { id, successorId, status }: KeyView,
  environmentFor: (form: string) => Html,
  result: FormResult | undefined,
): Html {
  const action = (name: string) => pathOf(view, "accounts", accountId, "keys", id, name);
  const overlap = { hint: "How long both keys work.", options: OVERLAPS, value: "86400000" };
  const rotate = formDialog(view, action("rotate"), {
    ...{ id: `rotate-${id}`, opener: "Rotate…", title: "Rotate the key?", confirm: "Rotate key" },
    fields: html`<p>A new key takes the place of <code>${id}</code>.</p>
      ${environmentFor(`rotate-${id}`)}${fieldOf(`rotate-${id}`, { name: "overlapMs", label: "Overlap", ...overlap }, result)}`,
  });
  const revoke = formDialog(view, action("revoke"), {
    ...{ id: `revoke-${id}`, opener: "Revoke…", title: "Revoke the key?" },
    ...{ confirm: "Revoke key", isDanger: true },
    fields: html`<p>The key <code>${id}</code> stops working at its next request. This cannot be undone.</p>`,
  });
  return html`${status === "banned" ? changeForm(view, action("unban"), html`<button>Lift ban</button>`) : ""}
    ${successorId === undefined ? rotate : ""} ${revoke}`;
}
