import { type Command, Option } from "commander";
import {
  type Account,
  type AccountResult,
  type ApiKey,
  isActive,
  keyStatusAt,
  MAX_OVERLAP_MS,
  type RejectionCount,
} from "../../accounts/account.ts";
import { type Accounts, createAccounts, type IssuedKey } from "../../accounts/accounts.ts";
import { keyIdOf } from "../../accounts/api-key.ts";
import { parseKey } from "../../accounts/hash-key.ts";
import { invalidInput } from "../../core/errors.ts";
import type { Instant } from "../../core/time.ts";
import { isDateTime } from "../../orders/order.ts";
import { DAY_MS } from "../../plans/windows.ts";
import type { Store } from "../../stores/store.ts";
import { invalid, readAccountId, readDuration } from "../arguments.ts";
import { assertKeyEnvironment, type CommandContext, failWithAccountError, withStore } from "../context.ts";
import { printResult, printResults, type Result } from "../output.ts";
import { readEnvironment } from "../settings.ts";
import type { Terminal } from "../terminal.ts";

/** `keys`: the API keys of accounts. */
export function defineKeys(group: Command, context: CommandContext): void {
  group.addHelpText("afterAll", HELP);

  async function printKey(issued: IssuedKey): Promise<void> {
    const { accountId, keyId, key, expiresAt } = issued;
    const result = { account: accountId, keyId, key, expires: toRfc3339(expiresAt) };
    // A disk that is full is like a reader that has gone: the key exists, and nobody has it.
    if (!(await printResult(context, result).catch(() => false))) {
      return context.fail({ code: "key_not_shown", message: `${keyId}: ${explainNotShown(keyId)}` });
    }
    context.terminal.log("Store the key now: it cannot be shown again.");
  }

  group
    .command("issue")
    .description("Issues a key and shows it once.")
    .requiredOption("--account <id>", "the account that gets the key", readAccountId)
    .option("--expires <rfc3339>", "when the key expires (default: never)", readInstant)
    .action(({ account, expires }: { account: string; expires?: Instant }) => {
      const options = expires === undefined ? {} : { expiresAt: requireFuture(expires, context.clock()) };
      return withStore(context, async ({ store }) => {
        await assertKeyEnvironment(store, readEnvironment(context.env));
        const issued = await accountsOf(context, store).issueKey(account, options);
        return issued.ok ? printKey(issued) : failWithAccountError(context, account, issued);
      });
    });

  group
    .command("list")
    .description("Lists the keys of all accounts, or of one, with their states and without their secrets.")
    .option("--account <id>", "list only the keys of this account", readAccountId)
    .addOption(
      new Option("--state <state>", "list only keys in this state; expiring: within 30 days").choices(STATES),
    )
    .action((flags: { account?: string; state?: (typeof STATES)[number] }) =>
      withStore(context, async ({ store }) => {
        const accounts = await findAccounts(store, flags.account);
        if (accounts === undefined) {
          const failure = { ok: false, code: "account_not_found" } as const;
          return failWithAccountError(context, flags.account ?? "", failure);
        }
        const now = context.clock();
        const rows: Result[] = [];
        for await (const { id, keys, rejections } of accounts) {
          for (const key of keys) {
            const row = summarizeKey(key, now, rejections[key.id]);
            const isExpiring = isActive(key, now) && (key.expiresAt ?? Infinity) <= now + EXPIRING_MS;
            const isListed = flags.state === "expiring" ? isExpiring : row["state"] === flags.state;
            if (flags.state === undefined || isListed) rows.push({ account: id, ...row });
          }
        }
        await printResults(context, ["account", ...KEY_COLUMNS], rows);
      }),
    );

  group
    .command("find")
    .description("Names a key, such as one that has leaked, and its account.")
    .argument("<->", "reads the key from standard input, so that no shell history has it", readDash)
    .action((_dash: string) =>
      withStore(context, async ({ store }) => {
        const { accountId, id } = await readKey(context.terminal);
        const account = await store.accounts.find(accountId);
        const key = account?.keys.find((candidate) => candidate.id === id);
        if (account === undefined || key === undefined) {
          return failWithAccountError(context, id, { ok: false, code: "key_not_found" });
        }
        const summary = summarizeKey(key, context.clock(), account.rejections[id]);
        await printResult(context, { account: accountId, ...summary });
      }),
    );

  group
    .command("rotate")
    .description("Issues a replacement and shows it once. The old key expires after the overlap.")
    .argument("<key-id>", "the key's ID", readKeyId)
    .addOption(
      new Option("--overlap <duration>", "how long both keys work, such as 90m, 24h, 7d or 0; at most 90d")
        .argParser(readOverlap)
        .default(readOverlap("24h"), "24h"),
    )
    .action((id: string, { overlap }: { overlap: number }) =>
      withStore(context, async ({ store }) => {
        await assertKeyEnvironment(store, readEnvironment(context.env));
        const issued = await accountsOf(context, store).rotateKey(id, { overlapMs: overlap });
        return issued.ok ? printKey(issued) : failWithAccountError(context, id, issued);
      }),
    );

  /** Adds a command that changes a key and prints its new state. */
  function addChangeCommand(
    name: string,
    description: string,
    run: (accounts: Accounts, id: string) => Promise<AccountResult>,
  ): void {
    group
      .command(name)
      .description(description)
      .argument("[key-id]", "the key's ID", readKeyId)
      .option("--key <->", "reads the key itself from standard input", readDash)
      .action(async (keyId: string | undefined, { key: dash }: { key?: string }) => {
        if ((keyId === undefined) === (dash === undefined))
          throw invalidInput(
            "KEY_ID",
            "Give the key's ID, or the key itself on standard input with --key -.",
          );
        await withStore(context, async ({ store }) => {
          const id = keyId ?? (await readKey(context.terminal)).id;
          const result = await run(accountsOf(context, store), id);
          if (!result.ok) return failWithAccountError(context, id, result);
          const key = result.account.keys.find((candidate) => candidate.id === id);
          if (key !== undefined) await printResult(context, summarizeKey(key, context.clock()));
        });
      });
  }
  addChangeCommand("revoke", "Revokes a key immediately.", (accounts, id) => accounts.revokeKey(id));
  addChangeCommand("unban", "Lifts the ban of a key.", (accounts, id) => accounts.unbanKey(id));
}

const HELP = `
Examples:
  $ store-orders keys issue --account acme --expires 2027-01-01T00:00:00Z
  $ store-orders keys list
  $ store-orders keys list --account acme
  $ store-orders keys list --state expiring
  $ store-orders keys find - < leaked.txt
  $ store-orders keys revoke --key - < leaked.txt
  $ store-orders keys rotate acme.3hTbV9xKq0 --overlap 24h
  $ store-orders keys revoke acme.3hTbV9xKq0
  $ store-orders keys unban acme.3hTbV9xKq0`;

/** The states of `keys list --state`. */
const STATES = ["active", "banned", "expiring", "expired", "revoked"] as const;
const EXPIRING_MS = 30 * DAY_MS;

/** The error does not repeat the argument, which may be the key. */
function readDash(text: string): string {
  if (text === "-") return text;
  throw invalidInput(
    "KEY",
    "Write - and pass the key on standard input: an argument stays in the shell's history.",
  );
}

/** The most that is read from standard input to find a key, in characters. */
const MAX_INPUT_CHARS = 65_536;

/** Reads the only key on standard input, alone or within other text such as a header, and returns its identifier. */
async function readKey({
  input,
  log,
}: Terminal): Promise<{ readonly accountId: string; readonly id: string }> {
  if ("isTTY" in input && input.isTTY === true) log("Paste the key, then press Enter and Ctrl-D.");
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of input) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > MAX_INPUT_CHARS) throw invalidInput("standard input", NO_KEY);
  }
  const found = new Map(
    text.split(/[^\w-]+/).flatMap((word) => {
      const key = parseKey(word);
      return key === undefined ? [] : [[key.hash, key] as const];
    }),
  );
  const [key] = found.values();
  if (key === undefined || found.size > 1) throw invalidInput("standard input", NO_KEY);
  return { accountId: key.accountId, id: keyIdOf(key.accountId, key.hash) };
}

const NO_KEY =
  "Pass exactly one whole API key, such as so_test_demo_…: there is none here, or more than one, or a part is missing.";

function explainNotShown(keyId: string): string {
  return `The new key could not be written, so nobody has seen it. Revoke it with 'keys revoke ${keyId}', and issue another one.`;
}

function readInstant(text: string): Instant {
  const value = isDateTime(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(value)
    ? invalid("Use an RFC 3339 date-time with an offset, such as 2026-11-20T09:30:00Z.")
    : value;
}

function readOverlap(text: string): number {
  const value = readDuration(text);
  return value <= MAX_OVERLAP_MS ? value : invalid(`Use at most ${MAX_OVERLAP_MS / DAY_MS}d.`);
}

/** The error does not repeat the argument: a caller may have pasted the API key, which is a secret. */
function readKeyId(text: string): string {
  if (/^[a-z0-9][a-z0-9-]{0,31}\.[0-9A-Za-z]+$/.test(text)) return text;
  throw invalidInput("KEY_ID", "Use a key ID such as demo.3hTbV9xKq0; 'keys list' prints them.");
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

/** The columns of a table of keys. */
export const KEY_COLUMNS = ["keyId", "state", "bannedUntil", "created", "expires", "revoked", "successorId"];

/** Describes a key for people, without its hash. */
export function summarizeKey(key: ApiKey, now: Instant, rejections?: RejectionCount): Result {
  const bannedUntil = rejections?.bannedUntil ?? 0;
  return {
    keyId: key.id,
    state: keyStatusAt(key, bannedUntil, now),
    bannedUntil: bannedUntil > now ? toRfc3339(bannedUntil) : null,
    created: toRfc3339(key.createdAt),
    expires: toRfc3339(key.expiresAt),
    revoked: toRfc3339(key.revokedAt),
    successorId: key.successorId ?? null,
  };
}

/** Returns `null` for a missing instant, and for one that no date can represent: a key that expires then never does. */
export function toRfc3339(instant: Instant | undefined): string | null {
  const date = new Date(instant ?? Number.NaN);
  return Number.isNaN(date.getTime()) ? null : date.toISOString();
}
