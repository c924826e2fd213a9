import { type Command, Option } from "commander";
import type { Account, AccountResult } from "../../accounts/account.ts";
import { type Accounts, createAccounts, type IssuedKey } from "../../accounts/accounts.ts";
import type { Instant } from "../../clock.ts";
import { invalidInput } from "../../errors.ts";
import type { Store } from "../../stores/store.ts";
import { readAccountId, readInstant, readKeyId, readOverlap } from "../arguments.ts";
import { type CommandContext, reportAccountError, withStore } from "../context.ts";
import { EXIT, type ExitStatus } from "../exit-status.ts";
import { KEY_COLUMNS, summarizeKey, toRfc3339 } from "../key-summary.ts";
import { printResult, printResults, type Result } from "../results.ts";
import { readEnvironment } from "../settings.ts";
import { requireEnvironment } from "../store-environment.ts";

/** `keys`: the API keys of accounts. */
export function addKeyCommands(parent: Command, context: CommandContext): void {
  const group = parent.command("keys").description("Manages API keys.").addHelpText("after", HELP);
  const addCommand = (name: string) => group.command(name).addHelpText("after", HELP);

  async function printKey(issued: IssuedKey, command: Command): Promise<ExitStatus> {
    const { accountId, keyId, key, expiresAt } = issued;
    const result = { account: accountId, keyId, key, expires: toRfc3339(expiresAt) };
    // A disk that is full is like a reader that has gone: the key exists, and nobody has it.
    if (!(await printResult(context, command, result).catch(() => false))) {
      context.reportError({ code: "key_not_shown", message: `${keyId}: ${explainNotShown(keyId)}` });
      return EXIT.failed;
    }
    context.terminal.log("Store the key now: it cannot be shown again.");
    return EXIT.success;
  }

  addCommand("issue")
    .description("Issues a key and shows it once.")
    .requiredOption("--account <id>", "the account that gets the key", readAccountId)
    .option("--expires <rfc3339>", "when the key expires (default: never)", readInstant)
    .action(({ account, expires }: { account: string; expires?: Instant }, command: Command) => {
      const options = expires === undefined ? {} : { expiresAt: requireFuture(expires, context.clock()) };
      return withStore(context, command, async ({ store }) => {
        await requireEnvironment(store, readEnvironment(context.env));
        const issued = await accountsOf(context, store).issueKey(account, options);
        return issued.ok ? printKey(issued, command) : reportAccountError(context, account, issued);
      });
    });

  addCommand("list")
    .description("Lists the keys of all accounts, or of one, with their states and without their secrets.")
    .option("--account <id>", "list only the keys of this account", readAccountId)
    .action((flags: { account?: string }, command: Command) =>
      withStore(context, command, async ({ store }) => {
        const accounts = await findAccounts(store, flags.account);
        if (accounts === undefined) {
          const failure = { ok: false, code: "account_not_found" } as const;
          return reportAccountError(context, flags.account ?? "", failure);
        }
        const now = context.clock();
        const rows: Result[] = [];
        for await (const { id, keys, rejections } of accounts) {
          rows.push(...keys.map((key) => ({ account: id, ...summarizeKey(key, now, rejections[key.id]) })));
        }
        await printResults(context, command, ["account", ...KEY_COLUMNS], rows);
        return EXIT.success;
      }),
    );

  addCommand("rotate")
    .description("Issues a replacement and shows it once. The old key expires after the overlap.")
    .argument("<key-id>", "the key's ID", readKeyId)
    .addOption(
      new Option("--overlap <duration>", "how long both keys work, such as 90m, 24h, 7d or 0; at most 90d")
        .argParser(readOverlap)
        .default(readOverlap("24h"), "24h"),
    )
    .action((id: string, { overlap }: { overlap: number }, command: Command) =>
      withStore(context, command, async ({ store }) => {
        await requireEnvironment(store, readEnvironment(context.env));
        const issued = await accountsOf(context, store).rotateKey(id, { overlapMs: overlap });
        return issued.ok ? printKey(issued, command) : reportAccountError(context, id, issued);
      }),
    );

  /** Adds a command that changes a key and prints its new state. */
  function addChangeCommand(
    name: string,
    description: string,
    run: (accounts: Accounts, id: string) => Promise<AccountResult>,
  ): void {
    addCommand(name)
      .description(description)
      .argument("<key-id>", "the key's ID", readKeyId)
      .action((id: string, _flags: object, command: Command) =>
        withStore(context, command, async ({ store }) => {
          const result = await run(accountsOf(context, store), id);
          if (!result.ok) return reportAccountError(context, id, result);
          const key = result.account.keys.find((candidate) => candidate.id === id);
          if (key !== undefined) await printResult(context, command, summarizeKey(key, context.clock()));
          return EXIT.success;
        }),
      );
  }
  addChangeCommand("revoke", "Revokes a key immediately.", (accounts, id) => accounts.revokeKey(id));
  addChangeCommand("unban", "Lifts the ban of a key.", (accounts, id) => accounts.unbanKey(id));
}

const HELP = `
Examples:
  $ store-orders keys issue --account acme --expires 2027-01-01T00:00:00Z
  $ store-orders keys list
  $ store-orders keys list --account acme
  $ store-orders keys rotate acme.3hTbV9xKq0 --overlap 24h
  $ store-orders keys revoke acme.3hTbV9xKq0
  $ store-orders keys unban acme.3hTbV9xKq0`;

function explainNotShown(keyId: string): string {
  return `The new key could not be written, so nobody has seen it. Revoke it with 'keys revoke ${keyId}', and issue another one.`;
}

function requireFuture(expires: Instant, now: Instant): Instant {
  if (expires > now) return expires;
  const message = `'${toRfc3339(expires)}' is in the past. Give a time in the future.`;
  throw invalidInput("--expires", message);
}

/** Returns one account, or all. `undefined` if there is no account with this ID. */
async function findAccounts(
  { accounts }: Store,
  id: string | undefined,
): Promise<AsyncIterable<Account> | readonly Account[] | undefined> {
  if (id === undefined) return accounts.list();
  const account = await accounts.find(id);
  return account && [account];
}

function accountsOf({ env, clock }: CommandContext, store: Store): Accounts {
  return createAccounts({ store: store.accounts, environment: readEnvironment(env), clock });
}
