import type { Command } from "commander";
import type { Account } from "../accounts/account.ts";
import { type UsedQuota, usedQuotasAt } from "../accounts/account-usage.ts";
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
  const quotas = usedQuotasAt(account, now);
  const [minute, day] = [describe(quotas.minute), describe(quotas.day)];
  const keys = account.keys.map((key) => summarizeKey(key, now, account.rejections[key.id]));
  const summary = { account: account.id, plan: account.plan };
  if (globalFlags(command).json) return void (await printJson(context, { ...summary, minute, day, keys }));
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

function describe({ limit, used, remaining, resetsAt }: UsedQuota): Result {
  return { limit, used, remaining, resets: toRfc3339(resetsAt) };
}
