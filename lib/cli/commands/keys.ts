import { type Command, Option } from "commander";
import { type AccountResult, type ApiKey, isActive, type RejectionCount } from "../../accounts/account.ts";
import { type Accounts, createAccounts, type IssuedKey } from "../../accounts/accounts.ts";
import type { Instant } from "../../clock.ts";
import type { Store } from "../../stores/store.ts";
import { readAccountId, readDuration, readInstant, readKeyId } from "../arguments.ts";
import { type CommandContext, reportAccountError, withStore } from "../context.ts";
import { EXIT, type ExitStatus } from "../exit-status.ts";
import { printResult, printResults, type Result } from "../results.ts";
import { readEnvironment } from "../settings.ts";

/** `keys`: the API keys of accounts. */
export function addKeyCommands(parent: Command, context: CommandContext): void {
  const group = parent.command("keys").description("Manages API keys.").addHelpText("after", HELP);
  const addCommand = (name: string) => group.command(name).addHelpText("after", HELP);

  async function printKey(issued: IssuedKey, command: Command): Promise<ExitStatus> {
    const { account, keyId, key, expiresAt } = issued;
    await printResult(context, command, { account, keyId, key, expires: toRfc3339(expiresAt) });
    context.terminal.log("Store the key now: it cannot be shown again.");
    return EXIT.success;
  }

  addCommand("issue")
    .description("Issues a key and shows it once.")
    .requiredOption("--account <id>", "the account that gets the key", readAccountId)
    .option("--expires <rfc3339>", "when the key expires (default: never)", readInstant)
    .action((flags: { account: string; expires?: Instant }, command: Command) =>
      withStore(context, command, async ({ store }) => {
        const { account, expires } = flags;
        const options = expires === undefined ? {} : { expiresAt: expires };
        const issued = await accountsOf(context, store).issueKey(account, options);
        return issued.ok ? printKey(issued, command) : reportAccountError(context, account, issued);
      }),
    );

  addCommand("list")
    .description("Lists the keys of an account and their states, without their secrets.")
    .requiredOption("--account <id>", "the account", readAccountId)
    .action((flags: { account: string }, command: Command) =>
      withStore(context, command, async ({ store }) => {
        const account = await store.accounts.find(flags.account);
        if (account === undefined) {
          return reportAccountError(context, flags.account, { ok: false, code: "account_not_found" });
        }
        const now = context.clock();
        const rows = account.keys.map((key) => summarize(key, now, account.rejections[key.id]));
        await printResults(context, command, COLUMNS, rows);
        return EXIT.success;
      }),
    );

  addCommand("rotate")
    .description("Issues a replacement and shows it once. The old key expires after the overlap.")
    .argument("<key-id>", "the key's ID", readKeyId)
    .addOption(
      new Option("--overlap <duration>", "how long both keys work, such as 90m, 24h, 7d or 0; at most 90d")
        .argParser(readDuration)
        .default(readDuration("24h"), "24h"),
    )
    .action((id: string, { overlap }: { overlap: number }, command: Command) =>
      withStore(context, command, async ({ store }) => {
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
          if (key !== undefined) await printResult(context, command, summarize(key, context.clock()));
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
  $ store-orders keys list --account acme
  $ store-orders keys rotate acme.3hTbV9xKq0 --overlap 24h
  $ store-orders keys revoke acme.3hTbV9xKq0
  $ store-orders keys unban acme.3hTbV9xKq0`;

const COLUMNS = ["keyId", "state", "bannedUntil", "created", "expires", "revoked", "successorId"];

function accountsOf({ env, clock }: CommandContext, store: Store): Accounts {
  return createAccounts({ store: store.accounts, environment: readEnvironment(env), clock });
}

function summarize(key: ApiKey, now: Instant, rejections?: RejectionCount): Result {
  const bannedUntil = rejections?.bannedUntil ?? 0;
  return {
    keyId: key.id,
    state: stateOf(key, now, bannedUntil),
    bannedUntil: bannedUntil > now ? toRfc3339(bannedUntil) : null,
    created: toRfc3339(key.createdAt),
    expires: toRfc3339(key.expiresAt),
    revoked: toRfc3339(key.revokedAt),
    successorId: key.successorId ?? null,
  };
}

function stateOf(
  key: ApiKey,
  now: Instant,
  bannedUntil: Instant,
): "active" | "banned" | "revoked" | "expired" {
  if (isActive(key, now)) return bannedUntil > now ? "banned" : "active";
  return key.revokedAt === undefined ? "expired" : "revoked";
}

/** Returns `null` for a missing instant, and for one that no date can represent: a key that expires then never does. */
function toRfc3339(instant: Instant | undefined): string | null {
  const date = new Date(instant ?? Number.NaN);
  return Number.isNaN(date.getTime()) ? null : date.toISOString();
}
