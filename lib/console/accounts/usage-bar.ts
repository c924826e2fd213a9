import { html } from "hono/html";
import type { UsedQuota } from "../../accounts/account-usage.ts";
import type { Instant } from "../../clock.ts";
import type { Html } from "../section.ts";
import { formatCount, formatDuration } from "../text.ts";

/** From this part of the limit on, a bar has another colour. */
const HIGH = 0.8;

/** The usage of one window as a bar, with the same in words. */
export function usageBar({ limit, used, remaining, resetsAt }: UsedQuota, now: Instant): Html {
  const part = limit === 0 ? 1 : Math.min(1, used / limit);
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
