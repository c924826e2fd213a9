import type { Command } from "commander";
import type { Account } from "../accounts/account.ts";
import type { Instant } from "../clock.ts";
import { limitsOf } from "../plans/plan-limits.ts";
import { type Quota, quotasAt, usageAt, type WindowUsage } from "../plans/windows.ts";
import { type CommandContext, globalFlags } from "./context.ts";
import { KEY_COLUMNS, summarizeKey, toRfc3339 } from "./key-summary.ts";
import { formatResult, formatResults, printJson, type Result } from "./results.ts";

/** Prints everything about an account: its plan, the usage of both windows, and its keys. */
export async function printAccount(
  context: CommandContext,
  command: Command,
  account: Account,
): Promise<void> {
  const now = context.clock();
  const { minute, day } = describeWindows(account, now);
  const keys = account.keys.map((key) => summarizeKey(key, now, account.rejections[key.id]));
  const summary = { account: account.id, plan: account.plan };
  if (globalFlags(command).json) return printJson(context, { ...summary, minute, day, keys });
  const windows = [
    { window: "minute", ...minute },
    { window: "day", ...day },
  ];
  const tables = [
    formatResult(summary),
    formatResults(["window", "limit", "used", "remaining", "resets"], windows),
    keys.length === 0 ? "no keys\n" : formatResults(KEY_COLUMNS, keys),
  ];
  await context.terminal.print(tables.join("\n"));
}

/** An account without limits, such as one of an unknown plan, may make no request. */
const NO_LIMITS = { perMinute: 0, perDay: 0 };

function describeWindows(account: Account, now: Instant): { minute: Result; day: Result } {
  const used = usageAt(account.usage, now);
  const quotas = quotasAt(account.usage, limitsOf(account) ?? NO_LIMITS, now);
  return { minute: describe(used.minute, quotas.minute), day: describe(used.day, quotas.day) };
}

function describe({ count }: WindowUsage, { limit, remaining, resetsAt }: Quota): Result {
  return { limit, used: count, remaining, resets: toRfc3339(resetsAt) };
}
