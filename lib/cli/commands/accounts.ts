import { type Command, Option } from "commander";
import { type AccountResult, type AccountSettings, isActive } from "../../accounts/account.ts";
import { type Accounts, createAccounts } from "../../accounts/accounts.ts";
import { validatePlan } from "../../accounts/validate-plan.ts";
import { invalidInput } from "../../errors.ts";
import { limitsOf, PLAN_LIMITS, PLANS, type Plan, type PlanAssignment } from "../../plans/plan-limits.ts";
import type { Store } from "../../stores/store.ts";
import { printAccount } from "../account-details.ts";
import { readAccountId, readWholeNumber, validateFlags } from "../arguments.ts";
import {
  type CommandContext,
  reportAccountError,
  type WithStore,
  withStore,
  withStoreOrCreate,
} from "../context.ts";
import { EXIT, type ExitStatus } from "../exit-status.ts";
import { printResult, printResults, type Result } from "../results.ts";
import { readEnvironment } from "../settings.ts";

/** `accounts`: the accounts that may call the API, and their plans. */
export function addAccountCommands(parent: Command, context: CommandContext): void {
  const group = parent
    .command("accounts")
    .description("Manages accounts and their plans.")
    .addHelpText("after", HELP);

  /** Adds a command that sets the plan of an account. */
  function addPlanCommand(
    name: string,
    description: string,
    useStore: WithStore,
    run: (accounts: Accounts, id: string, plan: PlanAssignment) => Promise<AccountResult>,
  ): void {
    group
      .command(name)
      .description(description)
      .argument("<id>", "the account's ID: lower-case letters, digits and hyphens", readAccountId)
      .addOption(new Option("--plan <plan>", "the plan").choices(PLANS).makeOptionMandatory())
      .option("--per-minute <n>", "requests per minute (enterprise only)", readWholeNumber)
      .option("--per-day <n>", "requests per day (enterprise only)", readWholeNumber)
      .addHelpText("after", HELP)
      .action((id: string, flags: PlanFlags, command: Command) => {
        const plan = toPlanAssignment(flags);
        const environment = readEnvironment(context.env);
        return useStore(context, command, async ({ store }) => {
          const accounts = createAccounts({ store: store.accounts, environment, clock: context.clock });
          const result = await run(accounts, id, plan);
          if (!result.ok) return reportAccountError(context, id, result);
          await printResult(context, command, summarize(result.account));
          return EXIT.success;
        });
      });
  }
  addPlanCommand("create", "Creates an account.", withStoreOrCreate, (accounts, id, plan) =>
    accounts.create(id, plan),
  );
  addPlanCommand(
    "set-plan",
    "Changes the plan of an account immediately. Requests that were already counted stay counted.",
    withStore,
    (accounts, id, plan) => accounts.setPlan(id, plan),
  );

  group
    .command("list")
    .description("Lists all accounts with their plan, limits and number of active keys.")
    .addHelpText("after", HELP)
    .action((_flags: object, command: Command) =>
      withStore(context, command, async ({ store }) => {
        const rows: Result[] = [];
        for await (const account of store.accounts.list()) {
          const activeKeys = account.keys.filter((key) => isActive(key, context.clock())).length;
          rows.push({ ...summarize(account), activeKeys });
        }
        await printResults(context, command, COLUMNS, rows);
        return EXIT.success;
      }),
    );

  group
    .command("show")
    .description("Shows the plan of an account, the usage of both windows, and its keys with their bans.")
    .argument("<id>", "the account's ID", readAccountId)
    .addHelpText("after", HELP)
    .action((id: string, _flags: object, command: Command) =>
      withStore(context, command, ({ store }) => showAccount(context, command, store, id)),
    );

  group
    .command("reset")
    .description("Sets the counters of both windows to zero, for this minute and this day. Bans stay.")
    .argument("<id>", "the account's ID", readAccountId)
    .addHelpText("after", HELP)
    .action((id: string, _flags: object, command: Command) =>
      withStore(context, command, async ({ store }) => {
        const result = await store.accounts.resetUsage(id);
        if (!result.ok) return reportAccountError(context, id, result);
        return showAccount(context, command, store, id);
      }),
    );
}

async function showAccount(
  context: CommandContext,
  command: Command,
  { accounts }: Store,
  id: string,
): Promise<ExitStatus> {
  const account = await accounts.find(id);
  if (account === undefined) return reportAccountError(context, id, { ok: false, code: "account_not_found" });
  await printAccount(context, command, account);
  return EXIT.success;
}

const HELP = `
Examples:
  $ store-orders accounts create acme --plan pro
  $ store-orders accounts create globex --plan enterprise --per-minute 6000 --per-day 2000000
  $ store-orders accounts set-plan acme --plan business
  $ store-orders accounts list --json
  $ store-orders accounts show acme
  $ store-orders accounts reset acme`;

const COLUMNS = ["account", "plan", "perMinute", "perDay", "activeKeys"];

interface PlanFlags {
  readonly plan: Plan;
  readonly perMinute?: number;
  readonly perDay?: number;
}

function toPlanAssignment({ plan, perMinute, perDay }: PlanFlags): PlanAssignment {
  const isPartial = (perMinute === undefined) !== (perDay === undefined);
  const isMissing = perMinute === undefined && PLAN_LIMITS[plan] === "custom";
  if (isPartial || isMissing) {
    throw invalidInput(
      "--per-minute, --per-day",
      "Set both options for the enterprise plan, and neither for another one.",
    );
  }
  const limits =
    perMinute === undefined || perDay === undefined ? {} : { customLimits: { perMinute, perDay } };
  return validateFlags({ perMinute, perDay }, () => validatePlan({ plan, ...limits }));
}

function summarize(account: AccountSettings): Result {
  const limits = limitsOf(account);
  return {
    account: account.id,
    plan: account.plan,
    perMinute: limits?.perMinute ?? null,
    perDay: limits?.perDay ?? null,
  };
}
