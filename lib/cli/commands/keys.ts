import { type Command, Option } from "commander";
import type { Account } from "../../accounts/account.ts";
import { type KeyView, viewAccount } from "../../accounts/account-view.ts";
import { type Accounts, createAccounts, type KeyResult } from "../../accounts/accounts.ts";
import { findKeys } from "../../accounts/hash-key.ts";
import { invalidInput } from "../../core/errors.ts";
import type { Instant } from "../../core/time.ts";
import { isDateTime } from "../../orders/order.ts";
import { DAY_MS } from "../../plans/windows.ts";
import type { Store } from "../../stores/store.ts";
import { invalid, nameFlags, readAccountId, readDuration } from "../arguments.ts";
import { type CommandContext, failWithAccountError, withStore } from "../context.ts";
import { printResult, printResults, type Result } from "../output.ts";
import { environmentOf } from "../settings.ts";
import { readInput, type Terminal } from "../terminal.ts";
import { addKeysImport } from "./keys-import.ts";

export function defineKeys(group: Command, context: CommandContext): void {
  const { clock, env, fail, terminal } = context;
  group.addHelpText("afterAll", HELP);

  const findKey = (account: Account | undefined, keyId: string) =>
    account && viewAccount(account, clock()).keys.find(({ id }) => id === keyId);

  const showNewKey = (subject: string, issue: (accounts: Accounts) => Promise<KeyResult>) =>
    withStore(context, async ({ store }) => {
      const environment = await environmentOf(store, env);
      const accounts = createAccounts({ store: store.accounts, environment, clock });
      const isFirst = (await store.accounts.findEnvironment()) === undefined;
      const issued = await issue(accounts).catch((error: unknown) => {
        throw nameFlags(error, FLAG_NAMES);
      });
      if (!issued.ok) return failWithAccountError(context, subject, issued);
      const { accountId: account, keyId, key, expiresAt } = issued;
      const result = { account, keyId, key, expires: toRfc3339(expiresAt) };
      // A disk that is full is like a reader that has gone: the key exists, and nobody has it.
      const isShown = await printResult(context, result).catch(() => false);
      const notShown = `The new key could not be written, so nobody has seen it. Revoke it with 'keys revoke ${keyId}', and issue another one.`;
      if (!isShown) return fail({ code: "key_not_shown", message: `${keyId}: ${notShown}` });
      terminal.log("Store the key now: it cannot be shown again.");
      if (isFirst)
        terminal.log(`It is the first key of this store, whose keys are all for '${environment}' now.`);
    });

  group
    .command("issue")
    .description("Issues a key and shows it once.")
    .requiredOption("--account <id>", "the account that gets the key", readAccountId)
    .option("--expires <rfc3339>", "when the key expires (default: never)", readInstant)
    .option("--name <text>", "what people call the key, such as the program that uses it")
    .action(({ account, expires, ...named }: { account: string; expires?: Instant; name?: string }) => {
      const expiry = expires === undefined ? {} : { expiresAt: expires };
      return showNewKey(account, (accounts) => accounts.issueKey(account, { ...expiry, ...named }));
    });

  addKeysImport(group, context);

  group
    .command("list")
    .description("Lists the keys of all accounts, or of one, with their states and without their secrets.")
    .option("--account <id>", "list only the keys of this account", readAccountId)
    .addOption(new Option("--state <state>", "only keys in this state; expiring: in 30 days").choices(STATES))
    .action(({ account: id, state }: { account?: string; state?: (typeof STATES)[number] }) =>
      withStore(context, async ({ store }) => {
        const account = id === undefined ? undefined : await store.accounts.find(id);
        if (id !== undefined && account === undefined)
          return failWithAccountError(context, id, { ok: false, code: "account_not_found" });
        const now = clock();
        const rows: Result[] = [];
        for await (const found of account ? [account] : store.accounts.list()) {
          for (const key of viewAccount(found, now).keys) {
            const isExpiring = key.isActive && (key.expiresAt ?? Infinity) <= now + EXPIRING_MS;
            const isListed = state === "expiring" ? isExpiring : key.status === state;
            if (state === undefined || isListed) rows.push({ account: found.id, ...summarizeKey(key) });
          }
        }
        await printResults(context, ["account", ...KEY_COLUMNS], rows);
      }),
    );

  group
    .command("find")
    .description("Names a key, such as one that has leaked, and its account.")
    .argument("<->", "reads the key from standard input, so that no shell history has it", readDash)
    .action(() =>
      withStore(context, async ({ store }) => {
        const { accountId, keyId } = await readKey(terminal, store);
        const key = findKey(await store.accounts.find(accountId), keyId);
        if (key === undefined)
          return failWithAccountError(context, keyId, { ok: false, code: "key_not_found" });
        return printResult(context, { account: accountId, ...summarizeKey(key) });
      }),
    );

  group
    .command("rotate")
    .description("Issues a replacement and shows it once. The old key expires after the overlap.")
    .argument("<key-id>", "the key's ID", readKeyId)
    .addOption(
      new Option("--overlap <duration>", "how long both keys work, such as 90m, 24h, 7d or 0; at most 90d")
        .argParser(readDuration)
        .default(DAY_MS, "24h"),
    )
    .action((id: string, { overlap }: { overlap: number }) =>
      showNewKey(id, (accounts) => accounts.rotateKey(id, { overlapMs: overlap })),
    );

  const addChangeCommand = (name: string, method: "revokeKey" | "unbanKey", description: string) =>
    group
      .command(name)
      .description(description)
      .argument("[key-id]", "the key's ID", readKeyId)
      .option("--key <->", "reads the key itself from standard input", readDash)
      .action(async (keyId: string | undefined, { key: dash }: { key?: string }) => {
        if ((keyId === undefined) === (dash === undefined)) throw invalidInput("KEY_ID", ONE_KEY);
        await withStore(context, async ({ store }) => {
          const id = keyId ?? (await readKey(terminal, store)).keyId;
          const result = await createAccounts({ store: store.accounts, clock })[method](id);
          if (!result.ok) return failWithAccountError(context, id, result);
          // With its last use, which the result of a change lacks.
          const key = findKey(await store.accounts.find(result.account.id), id);
          if (key) await printResult(context, summarizeKey(key));
        });
      });
  addChangeCommand("revoke", "revokeKey", "Revokes a key immediately.");
  addChangeCommand("unban", "unbanKey", "Lifts the ban of a key.");
}

const FLAG_NAMES = {
  ...{ environment: "STORE_ORDERS_ENVIRONMENT", expiresAt: "--expires" },
  ...{ name: "--name", overlapMs: "--overlap" },
};

const ONE_KEY = "Give the key's ID, or the key itself on standard input with --key -.";

const HELP = `
Examples:
  $ store-orders keys issue --account acme --expires 2027-01-01T00:00:00Z
  $ store-orders keys find - < leaked.txt`;

const STATES = ["active", "banned", "expiring", "expired", "revoked"] as const;
const EXPIRING_MS = 30 * DAY_MS;

/** The error does not repeat the argument, which may be the key. */
function readDash(text: string): string {
  if (text === "-") return text;
  const message = "Write - and pass the key on standard input: an argument stays in the shell's history.";
  throw invalidInput("KEY", message);
}

const MAX_INPUT_CHARS = 65_536;

/** Reads the only key on standard input, alone or within other text such as a header, and returns its identifier. */
async function readKey({ input, log }: Terminal, { accounts }: Pick<Store, "accounts">) {
  if ("isTTY" in input && input.isTTY === true) log("Paste the key, then press Enter and Ctrl-D.");
  const read = await readInput(input, MAX_INPUT_CHARS);
  if (!read.ok) throw invalidInput("standard input", `${read.message} ${TOO_LONG}`);
  const [key, another] = await findKeys(read.text, accounts.importedKeys);
  if (key === undefined || another !== undefined) {
    const found = key === undefined ? "no key, or only a part of one" : "several keys";
    throw invalidInput("standard input", `Pass exactly one whole API key: the input has ${found}.`);
  }
  return key;
}

const TOO_LONG = "Pass only the line that has the key.";

function readInstant(text: string): Instant {
  if (isDateTime(text)) return Date.parse(text);
  return invalid("Use an RFC 3339 date-time with an offset, such as 2026-11-20T09:30:00Z.");
}

/** The error does not repeat the argument: a caller may have pasted the API key, which is a secret. */
function readKeyId(text: string): string {
  if (/^[a-z0-9][a-z0-9-]{0,31}\.[0-9A-Za-z]+$/.test(text)) return text;
  throw invalidInput("KEY_ID", "Use a key ID such as demo.3hTbV9xKq0; 'keys list' prints them.");
}

export const KEY_COLUMNS = [
  ...["keyId", "name", "state", "bannedUntil", "created", "lastUsed", "expires", "revoked", "successorId"],
];

export function summarizeKey(key: KeyView): Result {
  return {
    keyId: key.id,
    name: key.name ?? null,
    state: key.status,
    bannedUntil: key.bannedUntil > 0 ? toRfc3339(key.bannedUntil) : null,
    created: toRfc3339(key.createdAt),
    lastUsed: toRfc3339(key.lastUsedAt),
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
