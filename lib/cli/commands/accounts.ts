import type { Command } from "commander";
import type { Account, AccountSettings } from "../../accounts/account.ts";
import { explainUnknownPlan, viewAccount } from "../../accounts/account-view.ts";
import { createAccounts } from "../../accounts/accounts.ts";
import { invalidInput } from "../../core/errors.ts";
import { escapeLine } from "../../core/text.ts";
import {
  limitsOf,
  PLANS,
  type PlanAssignment,
  type PlanTable,
  validatePlan,
} from "../../plans/plan-limits.ts";
import { readAccountId, readWholeNumber, validateFlags } from "../arguments.ts";
import { type CommandContext, failWithAccountError, withStore, withStoreOrCreate } from "../context.ts";
import {
  formatResult,
  formatResults,
  printEither,
  printResult,
  printResults,
  type Result,
} from "../output.ts";
import { readPlans } from "../settings.ts";
import { KEY_COLUMNS, summarizeKey, toRfc3339 } from "./keys.ts";

export function defineAccounts(group: Command, context: CommandContext): void {
  const { clock, env, flags, terminal } = context;
  group.addHelpText("afterAll", HELP);

  const addPlanCommand = (name: "create" | "set-plan", description: string) =>
    group
      .command(name)
      .description(description)
      .argument("<id>", "the account's ID: lower-case letters, digits and hyphens", readAccountId)
      .requiredOption("--plan <plan>", `the plan: ${PLANS.join(", ")}, or one of --plans`)
      .option("--per-minute <n>", "requests per minute (custom plans, such as enterprise)", readWholeNumber)
      .option("--per-day <n>", "requests per day (custom plans, such as enterprise)", readWholeNumber)
      .action(async (id: string, planFlags: PlanFlags) => {
        const plans = await readPlans(flags, env);
        const plan = toPlanAssignment(planFlags, plans);
        await (name === "create" ? withStoreOrCreate : withStore)(context, async ({ store }) => {
          const accounts = createAccounts({ store: store.accounts, clock, plans });
          const result = await (name === "create" ? accounts.create(id, plan) : accounts.setPlan(id, plan));
          if (!result.ok) return failWithAccountError(context, id, result);
          return printResult(context, summarize(result.account, plans));
        });
      });
  addPlanCommand("create", "Creates an account.");
  addPlanCommand("set-plan", "Changes the plan of an account at once. What has been counted stays counted.");

  group
    .command("list")
    .description("Lists all accounts with their plan, limits and number of active keys.")
    .option("--usage", "also show the usage of both windows, and the number of banned keys")
    .action(async ({ usage = false }: { usage?: boolean }) => {
      const plans = await readPlans(flags, env);
      await withStore(context, async ({ store }) => {
        const rows: Result[] = [];
        for await (const account of store.accounts.list()) {
          const { active, minute, day } = viewAccount(account, clock(), plans);
          const row = { ...summarize(account, plans), activeKeys: active.length };
          const bannedKeys = active.filter(({ status }) => status === "banned").length;
          const used = { bannedKeys, usedThisMinute: minute.used, usedToday: day.used };
          rows.push(usage ? { ...row, ...used } : row);
        }
        await printResults(context, usage ? [...COLUMNS, ...USAGE_COLUMNS] : COLUMNS, rows);
      });
    });

  async function show(account: Account | undefined, id: string, plans: PlanTable): Promise<void> {
    if (account === undefined)
      return failWithAccountError(context, id, { ok: false, code: "account_not_found" });
    const view = viewAccount(account, clock(), plans);
    const isKnown = view.limits !== undefined;
    if (!isKnown) terminal.log(escapeLine(`Warning: ${explainUnknownPlan(account)}`));
    // Limits of an unknown plan are `null`.
    const [minute, day] = [view.minute, view.day].map(({ limit, used, remaining, resetsAt }) => {
      const known = isKnown ? { limit, used, remaining } : { limit: null, used, remaining: null };
      return { ...known, resets: toRfc3339(resetsAt) };
    });
    const keys = view.keys.map(summarizeKey);
    const summary = { account: account.id, plan: account.plan };
    const windows = [
      { window: "minute", ...minute },
      { window: "day", ...day },
    ];
    const tables = [
      formatResult(summary),
      formatResults(["window", "limit", "used", "remaining", "resets"], windows),
      keys.length === 0 ? "no keys\n" : formatResults(KEY_COLUMNS, keys),
    ];
    await printEither(context, { ...summary, minute, day, keys }, () => tables.join("\n"));
  }
  const addShowCommand = (name: "show" | "reset", description: string) =>
    group
      .command(name)
      .description(description)
      .argument("<id>", "the account's ID", readAccountId)
      .action(async (id: string) => {
        const plans = await readPlans(flags, env);
        await withStore(context, async ({ store: { accounts } }) => {
          if (name === "reset") await accounts.resetUsage(id);
          await show(await accounts.find(id), id, plans);
        });
      });
  addShowCommand("show", "Shows the plan of an account, its usage, and its keys with their bans.");
  addShowCommand("reset", "Sets the counters of this minute and this day to zero. Bans stay.");

  group
    .command("delete")
    .description("Deletes an account. Its keys are invalid from their next request on; orders stay.")
    .argument("<id>", "the account's ID", readAccountId)
    .requiredOption("--yes", "confirm that all its keys end at once")
    .action((id: string) =>
      withStore(context, async ({ store }) => {
        const result = await store.accounts.delete(id);
        if (!result.ok) return failWithAccountError(context, id, result);
        const { keys } = result.account;
        return printResult(context, { deleted: id, keys: keys.length });
      }),
    );
}

const HELP = `
Examples:
  $ store-orders accounts create globex --plan enterprise --per-minute 6000 --per-day 2000000
  $ store-orders accounts list --usage`;

const COLUMNS = ["account", "plan", "perMinute", "perDay", "activeKeys"];
const USAGE_COLUMNS = ["bannedKeys", "usedThisMinute", "usedToday"];

interface PlanFlags {
  readonly plan: string;
  readonly perMinute?: number;
  readonly perDay?: number;
}

function toPlanAssignment({ plan, perMinute, perDay }: PlanFlags, plans: PlanTable): PlanAssignment<string> {
  const isPartial = (perMinute === undefined) !== (perDay === undefined);
  const isMissing = perMinute === undefined && Object.hasOwn(plans, plan) && plans[plan] === "custom";
  const message = "Set both for a plan with custom limits, such as enterprise, and neither for another one.";
  if (isPartial || isMissing) throw invalidInput("--per-minute, --per-day", message);
  const limits =
    perMinute === undefined || perDay === undefined ? {} : { customLimits: { perMinute, perDay } };
  const wrong = Object.hasOwn(plans, plan) ? { perMinute, perDay } : { plan };
  return validateFlags(wrong, () => validatePlan({ plan, ...limits }, plans));
}

function summarize(account: AccountSettings, plans: PlanTable): Result {
  const { perMinute = null, perDay = null } = limitsOf(account, plans) ?? {};
  return { account: account.id, plan: account.plan, perMinute, perDay };
}
