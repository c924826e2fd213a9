import { type Command, Option } from "commander";
import { type AccountSettings, isActive } from "../../accounts/account.ts";
import { type Accounts, createAccounts } from "../../accounts/accounts.ts";
import { InvalidInputError, type Refusal } from "../../errors.ts";
import { limitsOf, PLANS, type Plan, type PlanAssignment } from "../../plans/plan-limits.ts";
import { accountId, wholeNumber } from "../arguments.ts";
import { type CommandContext, refuse, type WithStore, withNewStore, withStore } from "../context.ts";
import { EXIT } from "../exit-status.ts";
import { printResult, printResults, type Result } from "../results.ts";
import { environmentOf } from "../settings.ts";

/** `accounts`: who may call the API, and how often. */
export function addAccountCommands(parent: Command, context: CommandContext): void {
  const group = parent
    .command("accounts")
    .description("Accounts and their plans.")
    .addHelpText("after", HELP);

  /** A command that gives an account its terms. */
  function settle(
    name: string,
    description: string,
    over: WithStore,
    work: (accounts: Accounts, id: string, terms: PlanAssignment) => Promise<AccountSettings | Refusal>,
  ): void {
    group
      .command(name)
      .description(description)
      .argument("<id>", "lower-case letters, digits and hyphens", accountId)
      .addOption(new Option("--plan <plan>", "the plan").choices(PLANS).makeOptionMandatory())
      .option("--per-minute <n>", "requests a minute, agreed for enterprise", wholeNumber)
      .option("--per-day <n>", "requests a day, agreed for enterprise", wholeNumber)
      .addHelpText("after", HELP)
      .action((id: string, flags: TermFlags, command: Command) =>
        over(context, command, async ({ store }) => {
          const environment = environmentOf(context.env);
          const accounts = createAccounts({ store: store.accounts, environment, clock: context.clock });
          const account = await work(accounts, id, termsOf(flags));
          if ("refused" in account) return refuse(context, id, account);
          await printResult(context, command, summary(account));
          return EXIT.done;
        }),
      );
  }
  settle("create", "Add an account.", withNewStore, (accounts, id, terms) => accounts.create(id, terms));
  settle(
    "set-plan",
    "Put an account on another plan, at once. A running window keeps its count.",
    withStore,
    (accounts, id, terms) => accounts.setPlan(id, terms),
  );

  group
    .command("list")
    .description("Every account with its plan, its limits and how many living keys it has.")
    .addHelpText("after", HELP)
    .action((_flags: object, command: Command) =>
      withStore(context, command, async ({ store }) => {
        const rows: Result[] = [];
        for await (const account of store.accounts.list()) {
          const livingKeys = account.keys.filter((key) => isActive(key, context.clock())).length;
          rows.push({ ...summary(account), livingKeys });
        }
        await printResults(context, command, COLUMNS, rows);
        return EXIT.done;
      }),
    );
}

const HELP = `
Examples:
  $ store-orders accounts create acme --plan pro
  $ store-orders accounts create globex --plan enterprise --per-minute 6000 --per-day 2000000
  $ store-orders accounts set-plan acme --plan business
  $ store-orders accounts list --json`;

const COLUMNS = ["account", "plan", "perMinute", "perDay", "livingKeys"];

interface TermFlags {
  readonly plan: Plan;
  readonly perMinute?: number;
  readonly perDay?: number;
}

function termsOf({ plan, perMinute, perDay }: TermFlags): PlanAssignment {
  if (perMinute === undefined && perDay === undefined) return { plan };
  if (perMinute === undefined || perDay === undefined) {
    throw new InvalidInputError([{ path: "--per-minute, --per-day", message: "Give both or none." }]);
  }
  return { plan, customLimits: { perMinute, perDay } };
}

function summary({ id, terms }: AccountSettings): Result {
  const limits = limitsOf(terms);
  return {
    account: id,
    plan: terms.plan,
    perMinute: limits?.perMinute ?? null,
    perDay: limits?.perDay ?? null,
  };
}
