/** One account of the console: its page with plan, usage, traffic and keys. */
import { html } from "hono/html";
import {
  type Account,
  type AccountSettings,
  type ApiKey,
  banEndAt,
  isActive,
  type KeyStatus,
  keyStatusAt,
  type UsedQuota,
  usedQuotasAt,
} from "../../accounts/account.ts";
import { formatCount, formatDuration } from "../../core/text.ts";
import type { Instant } from "../../core/time.ts";
import { limitsOf, PLAN_LIMITS, type PlanAssignment, type PlanTable } from "../../plans/plan-limits.ts";
import { changeForm, dialogButton, type FormResult, fieldOf } from "../form.ts";
import {
  backLink,
  type ConsoleDependencies,
  type ConsoleRequest,
  formatInstant,
  type Html,
  panel,
  pathOf,
  sendMissing,
  sendPage,
  table,
  type View,
} from "../page.ts";
import type { MinuteTraffic } from "./traffic.ts";

/** Sends the page of one account, after a change with its result. */
export async function sendAccountPage(
  c: ConsoleRequest,
  { store, clock, plans, traffic }: ConsoleDependencies,
  id: string,
  result?: FormResult,
): Promise<Response> {
  const view = c.get("view");
  const account = await store.accounts.find(id);
  const back = backLink(view, "accounts");
  if (account === undefined) {
    const message = html`There is no account <code>${id}</code>.`;
    return sendMissing(c, "account", { back, message, notice: result?.notice });
  }
  traffic.record(account);
  const now = clock();
  const { minute, day } = usageBars(account, now, plans);
  const action = (name: string) => pathOf(view, "accounts", id, name);
  const changePlan = html`${planFields("plan", result, plans, account)}
    <div><button class="main">Change plan</button></div>`;
  const hint = "Optional; at 00:00 UTC of this day.";
  const nameField = { name: "name", label: "Name", hint: "Optional; such as its program." };
  const issueKey = html`${fieldOf("issue", nameField, result)}${fieldOf("issue", { name: "expires", label: "Expires", type: "date", hint }, result)}
    <button class="main">Issue key</button>`;
  const deletion = changeForm(
    view,
    action("delete"),
    html`<p>Its keys stop working at their next request. Orders stay. This cannot be undone.</p>
      ${fieldOf("delete", { name: "account", label: "Type the account ID" }, result)}
      <div class="actions"><button class="danger">Delete account</button> <button type="button" data-close>Cancel</button></div>`,
    "form",
  );
  const body = html`<div class="head">
      <div>${back}<h1>${id}</h1><p>Plan ${planName(account, plans)}</p></div>
    </div>
    <div class="columns">
      ${panel(
        "usage",
        "Usage",
        html`<div><h3>This minute</h3>${minute}</div>
          <div><h3>Today (UTC)</h3>${day}</div>
          ${limitsOf(account, plans) === undefined ? unknownPlan(account) : ""}`,
      )}
      ${panel(
        "plan",
        "Plan",
        html`<p class="quiet small">A smaller plan takes effect at the next request, a larger one within a second. What has been
            counted stays counted.</p>
          ${changeForm(view, action("plan"), changePlan, "form")}`,
      )}
    </div>
    ${panel(
      "traffic",
      "Last hour",
      html`${trafficChart(traffic.lastHour(id))}
        <p class="quiet small">The store holds the counters of the current windows only, so this shows what the console has
          seen since it was started. Rejections are counted as far as the store counts them.</p>`,
    )}
    <section class="panel flush" aria-labelledby="keys-title">
      <div class="head"><h2 id="keys-title">Keys</h2>${changeForm(view, action("keys"), issueKey, "form row")}</div>
      ${keyTable(view, account, now)}
    </section>
    <p>${dialogButton("delete-dialog", "Delete account…", `Delete ${id}?`, deletion)}</p>`;
  return sendPage(c, { title: id, body, notice: result?.notice });
}

function unknownPlan({ plan }: AccountSettings): Html {
  return html`<p>The plans of this console have no limits for <code>${plan}</code>. A service with other plans, such as
    those of <code>serve --plans FILE</code>, may have them: start the console with the same file.</p>`;
}

/** From this part of the limit on, a bar has another colour. */
const HIGH = 0.8;

/**
 * The usage of both windows as bars, with the same in words. Without limits, which a plan that is not in the table has,
 * there are only the counts.
 */
export function usageBars(
  account: Account,
  now: Instant,
  plans?: PlanTable,
): { readonly minute: Html; readonly day: Html } {
  const { minute, day } = usedQuotasAt(account, now, plans);
  if (limitsOf(account, plans) !== undefined)
    return { minute: usageBar(minute, now), day: usageBar(day, now) };
  const count = ({ used }: UsedQuota) => html`<div class="usage number">
    <strong>${formatCount(used)}</strong> <span class="quiet">limit unknown</span></div>`;
  return { minute: count(minute), day: count(day) };
}

function usageBar({ limit, used, remaining, resetsAt }: UsedQuota, now: Instant): Html {
  const part = Math.min(1, used / limit);
  const level = remaining === 0 ? "full" : part >= HIGH ? "high" : "";
  return html`<div class="usage number">
    <strong>${formatCount(used)}</strong> <span class="quiet">of ${formatCount(limit)}</span>
    <svg class="bar ${level}" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
      <rect class="track" width="100" height="6" rx="1"></rect>
      <rect class="fill" width="${(part * 100).toFixed(1)}" height="6" rx="1"></rect>
    </svg>
    <span class="quiet small">${remaining === 0 ? "used up, " : ""}resets in ${formatDuration(resetsAt - now)}</span>
  </div>`;
}

/** The name of an account's plan, marked if the plan is not in the table. */
export function planName({ plan }: AccountSettings, plans: PlanTable = PLAN_LIMITS): Html {
  const mark = Object.hasOwn(plans, plan) ? "" : html` <span class="badge warn">not in the plans</span>`;
  return html`<span>${plan}${mark}</span>`;
}

/** The fields that choose a plan. A plan that is not in the table stays selected until somebody chooses another one. */
export function planFields(
  form: string,
  result: FormResult | undefined,
  plans: PlanTable = PLAN_LIMITS,
  account?: AccountSettings,
): Html {
  const names = Object.keys(plans);
  const custom = names.filter((name) => plans[name] === "custom");
  const { plan = names[0] ?? "", customLimits } = account ?? {};
  const unknown = names.includes(plan) ? [] : [[plan, `${plan} (not in the plans)`] as const];
  const options = [...unknown, ...names.map((name) => [name, name] as const)];
  const limitField = (name: "perMinute" | "perDay", label: string) => {
    const value = customLimits === undefined ? {} : { value: `${customLimits[name]}` };
    const hint = `${(custom.length === 0 ? [plan] : custom).join(", ")} only`;
    return fieldOf(form, { name, label, hint, inputMode: "numeric", ...value }, result);
  };
  const limits = html`${limitField("perMinute", "Requests per minute")}${limitField("perDay", "Requests per day")}`;
  return html`${fieldOf(form, { name: "plan", label: "Plan", options, value: plan }, result)}
    ${custom.length > 0 || customLimits !== undefined ? limits : ""}`;
}

/**
 * Reads the fields of a plan, which the operation validates. If the chosen plan has fixed limits and the limit fields
 * still show the account's own, they are left out; changed ones are passed on, and `setPlan` rejects them.
 */
export function readPlanFields(
  fields: Readonly<Record<string, string>>,
  plans: PlanTable = PLAN_LIMITS,
  account?: AccountSettings,
): PlanAssignment<string> {
  const { plan = "", perMinute = "", perDay = "" } = fields;
  const readLimit = (text: string) => (/^\d+$/.test(text.trim()) ? Number(text) : Number.NaN);
  const customLimits = { perMinute: readLimit(perMinute), perDay: readLimit(perDay) };
  const { customLimits: known } = account ?? {};
  const isKept = known?.perMinute === customLimits.perMinute && known.perDay === customLimits.perDay;
  const isFixed = Object.hasOwn(plans, plan) && plans[plan] !== "custom";
  const isEmpty = perMinute.trim() === "" && perDay.trim() === "";
  return { plan, ...(isEmpty || (isFixed && isKept) ? {} : { customLimits }) };
}

const [STEP, BAR, HEIGHT] = [12, 8, 120];

/** The traffic of the last hour as a chart, with the same in words. Minutes that were not observed have no bar. */
function trafficChart(minutes: readonly MinuteTraffic[]): Html {
  const seen = minutes.filter(({ admitted }) => admitted !== undefined);
  const first = seen[0];
  if (first === undefined) return html`<p class="quiet">Nothing has been observed yet.</p>`;
  const total = (name: "admitted" | "rejected") => seen.reduce((sum, minute) => sum + (minute[name] ?? 0), 0);
  const most = Math.max(1, ...seen.map(({ admitted = 0, rejected }) => admitted + rejected));
  const summary = `${formatCount(total("admitted"))} admitted and ${formatCount(total("rejected"))} rejected in ${seen.length === 1 ? "the one minute" : `the ${seen.length} minutes`} that this console has observed since ${formatInstant(first.start)}.`;
  return html`<p>${summary}</p>
    <svg class="chart" viewBox="0 0 ${minutes.length * STEP} ${HEIGHT + 2}" role="img" aria-label="Requests per minute, the last hour: ${summary}">
      ${minutes.map((minute, index) => bar(minute, index * STEP + (STEP - BAR) / 2, most))}
      <line class="axis" x1="0" x2="${minutes.length * STEP}" y1="${HEIGHT + 1}" y2="${HEIGHT + 1}"></line>
    </svg>
    <ul class="legend">
      ${LEGEND.map(([kind, text]) => html`<li><svg class="key" viewBox="0 0 10 10" aria-hidden="true"><rect class="${kind}" width="10" height="10"></rect></svg> ${text}</li>`)}
      ${total("admitted") + total("rejected") === 0 ? "" : html`<li>highest minute: ${formatCount(most)}</li>`}
    </ul>`;
}

const LEGEND = [
  ["admitted", "admitted"],
  ["rejected", "rejected, on top"],
  ["unseen", "not observed"],
] as const;

function bar({ start, admitted, rejected }: MinuteTraffic, x: number, most: number): Html {
  if (admitted === undefined)
    return html`<rect class="unseen" x="${x}" y="${HEIGHT - 4}" width="${BAR}" height="4"></rect>`;
  const [low, high] = [(admitted / most) * HEIGHT, (rejected / most) * HEIGHT];
  return html`<g><title>${formatInstant(start)}: ${admitted} admitted, ${rejected} rejected</title>
    <rect class="admitted" x="${x}" y="${(HEIGHT - low).toFixed(1)}" width="${BAR}" height="${low.toFixed(1)}"></rect>
    <rect class="rejected" x="${x}" y="${(HEIGHT - low - high).toFixed(1)}" width="${BAR}" height="${high.toFixed(1)}"></rect></g>`;
}

const LEVELS: Readonly<Record<KeyStatus, string>> = {
  active: "good",
  banned: "bad",
  revoked: "calm",
  expired: "calm",
};

/** The choices of an overlap, in milliseconds. */
const OVERLAPS = [0, 1, 24, 168, 720, 2160].map((hours) => {
  const label = hours === 0 ? "none: the old key stops now" : formatDuration(hours * 3_600_000);
  return [`${hours * 3_600_000}`, label] as const;
});

/** The keys of an account, active ones first, each with its actions. */
function keyTable(view: View, account: Account, now: Instant): Html {
  const keys = [...account.keys].sort((a, b) => Number(isActive(b, now)) - Number(isActive(a, now)));
  const rows = keys.map((key) => {
    const bannedUntil = banEndAt(account.rejections[key.id], now);
    const state = keyStatusAt(key, bannedUntil, now);
    const lastUse = account.lastUses?.[key.id];
    const end = key.revokedAt ?? key.expiresAt;
    const left = `${formatDuration(bannedUntil - now)} left`;
    const cells = [
      html`<div>${key.name === undefined ? "" : html`<strong>${key.name}</strong><br>`}<code>${key.id}</code></div>`,
      html`<div><span class="badge ${LEVELS[state]}">${state}</span>
        ${state === "banned" ? html`<span class="quiet small number">${left}</span>` : ""}</div>`,
      formatInstant(key.createdAt),
      lastUse === undefined ? html`<span class="quiet">unknown</span>` : formatInstant(lastUse),
      end === undefined ? "never" : formatInstant(end),
      isActive(key, now) ? keyActions(view, account, key, state) : "",
    ];
    return { id: `key-${key.id}`, cells };
  });
  return table(KEY_COLUMNS, rows, "The account has no key yet.");
}

const KEY_COLUMNS = [
  ...[["Key"], ["State"], ["Created", "number"], ["Last used", "number"], ["Ends", "number"], ["Actions"]],
] as const;

function keyActions(view: View, account: Account, { id, successorId }: ApiKey, state: KeyStatus): Html {
  const action = (name: string) => pathOf(view, "accounts", account.id, "keys", id, name);
  const unban = changeForm(view, action("unban"), html`<button>Lift ban</button>`);
  const overlap = { hint: "How long both keys work.", options: OVERLAPS, value: "86400000" };
  const rotate = changeForm(
    view,
    action("rotate"),
    html`${fieldOf(`rotate-${id}`, { name: "overlap", label: "Overlap", ...overlap })}
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
