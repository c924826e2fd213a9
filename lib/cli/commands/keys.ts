import type { Command } from "commander";
import { type AccountSettings, type ApiKey, isActive, type RejectionCount } from "../../accounts/account.ts";
import { type Accounts, createAccounts, type IssuedKey } from "../../accounts/accounts.ts";
import type { Instant } from "../../clock.ts";
import type { Refusal } from "../../errors.ts";
import type { Store } from "../../stores/store.ts";
import { accountId, duration, instant, keyId } from "../arguments.ts";
import { type CommandContext, refuse, withStore } from "../context.ts";
import { EXIT, type ExitStatus } from "../exit-status.ts";
import { printResult, printResults, type Result } from "../results.ts";
import { environmentOf } from "../settings.ts";

/** `keys`: what accounts call the API with. A key is shown once, when it is issued. */
export function addKeyCommands(parent: Command, context: CommandContext): void {
  const group = parent.command("keys").description("API keys.").addHelpText("after", HELP);
  const named = (name: string) => group.command(name).addHelpText("after", HELP);

  async function show(issued: IssuedKey, command: Command): Promise<ExitStatus> {
    const { account, keyId, key, expires } = issued;
    await printResult(context, command, { account, keyId, key, expires: rfc3339(expires) });
    context.terminal.tell("Keep the key now: it is not shown again.");
    return EXIT.done;
  }

  named("issue")
    .description("Issue a key and show it, this once.")
    .requiredOption("--account <id>", "whose key it is", accountId)
    .option("--expires <rfc3339>", "the moment from which on it is dead; default never", instant)
    .action((flags: { account: string; expires?: Instant }, command: Command) =>
      withStore(context, command, async ({ store }) => {
        const { account, expires } = flags;
        const options = expires === undefined ? {} : { expiresAt: expires };
        const issued = await useCases(context, store).issueKey(account, options);
        return "refused" in issued ? refuse(context, account, issued) : show(issued, command);
      }),
    );

  named("list")
    .description("The keys of an account and their state; never the keys themselves.")
    .requiredOption("--account <id>", "whose keys", accountId)
    .action((flags: { account: string }, command: Command) =>
      withStore(context, command, async ({ store }) => {
        const account = await store.accounts.find(flags.account);
        if (account === undefined) return refuse(context, flags.account, { refused: "account_not_found" });
        const at = context.clock();
        const rows = account.keys.map((key) => summary(key, at, account.rejections[key.id]));
        await printResults(context, command, COLUMNS, rows);
        return EXIT.done;
      }),
    );

  named("rotate")
    .description("Issue a successor and show it; the old key ends after the overlap.")
    .argument("<key-id>", "the key's identifier", keyId)
    .option("--overlap <time>", "how long both work, such as 90m, 24h, 7d or 0", duration, duration("24h"))
    .action((id: string, flags: { overlap: number }, command: Command) =>
      withStore(context, command, async ({ store }) => {
        const issued = await useCases(context, store).rotateKey(id, flags);
        return "refused" in issued ? refuse(context, id, issued) : show(issued, command);
      }),
    );

  /** A change of one key, which is shown as it is afterwards. */
  function change(
    name: string,
    description: string,
    work: (accounts: Accounts, id: string) => Promise<AccountSettings | Refusal>,
  ): void {
    named(name)
      .description(description)
      .argument("<key-id>", "the key's identifier", keyId)
      .action((id: string, _flags: object, command: Command) =>
        withStore(context, command, async ({ store }) => {
          const account = await work(useCases(context, store), id);
          if ("refused" in account) return refuse(context, id, account);
          const key = account.keys.find((known) => known.id === id);
          if (key !== undefined) await printResult(context, command, summary(key, context.clock()));
          return EXIT.done;
        }),
      );
  }
  change("revoke", "End a key at once.", (accounts, id) => accounts.revokeKey(id));
  change("pardon", "Lift the ban of a key.", (accounts, id) => accounts.unbanKey(id));
}

const HELP = `
Examples:
  $ store-orders keys issue --account acme --expires 2027-01-01T00:00:00Z
  $ store-orders keys list --account acme
  $ store-orders keys rotate acme.3hTbV9xKq0 --overlap 24h
  $ store-orders keys revoke acme.3hTbV9xKq0
  $ store-orders keys pardon acme.3hTbV9xKq0`;

const COLUMNS = ["keyId", "state", "bannedUntil", "created", "expires", "revoked"];

function useCases({ env: variables, clock }: CommandContext, store: Store): Accounts {
  return createAccounts({ store: store.accounts, environment: environmentOf(variables), clock });
}

function summary(key: ApiKey, at: Instant, penalty?: RejectionCount): Result {
  const ban = penalty?.bannedUntil ?? 0;
  return {
    keyId: key.id,
    state: stateOf(key, at, ban),
    bannedUntil: ban > at ? rfc3339(ban) : null,
    created: rfc3339(key.createdAt),
    expires: rfc3339(key.expiresAt),
    revoked: rfc3339(key.revokedAt),
  };
}

function stateOf(key: ApiKey, at: Instant, ban: Instant): "living" | "banned" | "revoked" | "expired" {
  if (isActive(key, at)) return ban > at ? "banned" : "living";
  return key.revokedAt === undefined ? "expired" : "revoked";
}

function rfc3339(instant: Instant | null | undefined): string | null {
  return instant == null ? null : new Date(instant).toISOString();
}
