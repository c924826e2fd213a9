import { existsSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { LIFECYCLE } from "../../lib/orders/lifecycle.ts";
import { useCommandLine } from "../support/command-line.ts";

const cli = useCommandLine();

async function commandsIn(...words: readonly string[]): Promise<readonly string[]> {
  const { stdout } = await cli.run([...words, "--help"]);
  const [, list = ""] = /^Commands:\n((?: {2,}.*\n)+)/m.exec(stdout) ?? [];
  const names = [...list.matchAll(/^ {2}([a-z-]+)/gm)].map(([, name = ""]) => name);
  return names.filter((name) => name !== "help").map((name) => [...words, name].join(" "));
}

/** Every command and group, and the program itself. */
let levels: readonly string[] = [];
beforeAll(async () => {
  const groups = await commandsIn();
  const commands = await Promise.all(groups.map(async (group) => [group, ...(await commandsIn(group))]));
  levels = ["", ...commands.flat()];
});

const STORE_FLAGS = ["--database <path>", "--postgres <url>", "--postgres-pool <n>", "--dynamodb <prefix>"];
/** The options that select a store which a group of commands does not use. */
const UNUSED: Readonly<Record<string, readonly string[]>> = {
  tables: ["--database <path>", "--postgres <url>", "--postgres-pool <n>"],
  domains: STORE_FLAGS,
  openapi: STORE_FLAGS,
  health: STORE_FLAGS,
  smoke: STORE_FLAGS,
};

test("the help lists every command", () => {
  expect(levels).toEqual(expect.arrayContaining(["", "serve", "accounts show", "domains watch", "openapi"]));
  expect(levels.length).toBeGreaterThan(30);
});

test("help at every level shows usage and examples, and the options of the stores that the command can use", async () => {
  await Promise.all(
    levels.map(async (level) => {
      const args = level.split(" ").filter(Boolean);
      const { status, stdout, stderr } = await cli.run([...args, "--help"]);
      expect({ level, status, stderr }).toEqual({ level, status: 0, stderr: "" });
      expect(stdout).toContain(`Usage: ${["store-orders", ...args].join(" ")}`);
      expect(stdout).toMatch(/Examples:\n(?: {2}\$ .*\n)*? {2}\$ .*\bstore-orders /);
      expect(stdout).toContain("--json");
      for (const option of STORE_FLAGS) {
        expect({ level, option, shown: stdout.includes(option) }).toEqual({
          level,
          option,
          shown: UNUSED[args[0] ?? ""]?.includes(option) !== true,
        });
      }
    }),
  );
});

test("the top-level help lists the exit statuses and the environment variables", async () => {
  const { stdout } = await cli.run(["--help"]);
  expect(stdout).toMatch(/Exit status: 0 .* 1 .* 2 .* 3 /);
  for (const name of [
    "STORE_ORDERS_DATABASE",
    "STORE_ORDERS_POSTGRES",
    "STORE_ORDERS_DYNAMODB",
    "STORE_ORDERS_ENVIRONMENT",
  ]) {
    expect(stdout).toContain(name);
  }
});

test("--version prints the version of the package", async () => {
  const { version } = (await import("../../package.json", { with: { type: "json" } })).default;
  expect(await cli.run(["--version"])).toEqual({ status: 0, stdout: `${version}\n`, stderr: "" });
});

const SECRET = "so_test_demo_RkZaBiUJI02fVPGuODTgPDlsxanO84Li3Ya1Rp";

const USAGE_ERRORS: readonly (readonly [args: string, message: RegExp])[] = [
  ["", /Usage: store-orders/],
  ["orders", /Usage: store-orders orders/],
  ["order", /unknown command 'order'\n\(Did you mean orders\?\)/],
  ["accounts list --jason", /unknown option '--jason'/],
  ["accounts list extra", /too many arguments/],
  ["accounts create --plan free", /missing required argument 'id'/],
  ["accounts create demo", /required option '--plan <plan>' not specified/],
  [
    "accounts create demo --plan gold",
    /--plan: 'gold' is invalid. Choose one of free, pro, business, enterprise/,
  ],
  ["accounts create Demo --plan free", /lower-case letters, digits and hyphens/],
  [
    "accounts create demo --plan enterprise",
    /--per-minute, --per-day: Set both for a plan with custom limits/,
  ],
  ["accounts create demo --plan pro --per-minute 5", /--per-day: .* and neither for another one/],
  [
    "accounts create demo --plan enterprise --per-minute 60001 --per-day 1",
    /--per-minute: '60001' is invalid. Give at most 60000/,
  ],
  [
    "accounts create demo --plan pro --per-minute 5 --per-day 5",
    /--plan: The pro plan has fixed limits. Only enterprise has custom limits/,
  ],
  ["keys issue", /required option '--account <id>' not specified/],
  ["keys issue --account demo --expires tomorrow", /RFC 3339/],
  [
    "keys rotate demo.abc --overlap 24",
    /'--overlap <duration>' argument '24' is invalid. Use a duration with a unit, such as 90m, 24h or 7d, or 0/,
  ],
  [`keys revoke ${SECRET}`, /KEY_ID: Use a key ID such as/],
  ["orders ship 9223372036854775808", /from -9223372036854775808 to 9223372036854775807/],
  ["orders place --quantity 1,000", /whole number from 0 to 2147483647, in plain digits/],
  ["orders place --quantity 2147483648", /--quantity <n>' argument '2147483648' is invalid/],
  ["orders place --ship-date 2026-11-20", /--ship-date: '2026-11-20' is invalid. Write an RFC 3339/],
  ["orders list --limit 10001", /Use a whole number from 1 to 10000; 'orders export' writes all orders/],
  ["orders list --status gone", new RegExp(`Allowed choices are ${LIFECYCLE.statuses.join(", ")}`)],
  ["orders import missing.ndjson", /missing\.ndjson: The file does not exist \(ENOENT\)/],
  ["orders import .", /This is a directory/],
  [
    "orders import - --rejects no/such/folder",
    /no\/such\/folder: The folder of the file does not exist \(ENOENT\)/,
  ],
  ["openapi --server orders.example.com", /Use a URL with its scheme that ends with \/v1/],
  ["serve --server https://orders.example.com", /Use a URL with its scheme that ends with \/v1/],
  ["openapi --server https://user:pw@orders.example.com/v1", /without a user, a query and a fragment/],
  ["serve --docs-url https://docs.example.com/<b>", /Use a URL with its scheme, such as/],
  ["serve --docs-url /docs", /Use a URL with its scheme, such as https:\/\/docs\.example\.com/],
  ["serve --base-path shop/", /'shop\/' is invalid. Use a path such as \/shop/],
  ["serve --cors-origin *", /Name each origin, such as https:\/\/shop\.example\.com/],
  ["serve --plan gold", /free, pro, business, enterprise/],
  ["serve --ban-after -1", /Use a whole number from 0 to 10000/],
  ["serve --ban-minutes 1441", /Use a whole number from 1 to 1440/],
  ["serve --port 65536", /port number from 0 to 65535/],
  ["accounts list --database a.db --dynamodb b", /--database and --dynamodb: Set only one of them/],
  ["accounts list --database=", /The value must not be empty/],
];

test("a usage error exits with 2 and prints how to fix it, without a stack or a key", async () => {
  await Promise.all(
    USAGE_ERRORS.map(async ([args, message]) => {
      const { status, stdout, stderr } = await cli.run(args.split(" ").filter(Boolean));
      expect({ args, status, stdout }).toEqual({ args, status: 2, stdout: "" });
      expect(stderr).toMatch(message);
      expect(stderr).not.toMatch(/^\s+at /m);
      expect(stderr).not.toContain(SECRET);
    }),
  );
});

test("with --json an error is one line of JSON on standard error, and nothing is on standard output", async () => {
  await cli.run(["accounts", "create", "acme", "--plan", "free"]);
  await cli.run(["orders", "place", "--id", "1"]);
  const cases: readonly (readonly [args: string, status: number, report: object])[] = [
    ["orders", 2, { code: "usage_error", message: "A command is missing. Add --help for usage." }],
    ["accounts list --jason", 2, { code: "usage_error", message: expect.stringContaining("'--jason'") }],
    ["orders ship x", 2, { code: "usage_error", message: expect.stringMatching(/'x'.*'id'/) }],
    [
      "orders import missing.ndjson",
      2,
      {
        code: "invalid_input",
        message: "missing.ndjson: The file does not exist (ENOENT).",
        issues: [{ path: "missing.ndjson", message: "The file does not exist (ENOENT)." }],
      },
    ],
    ["accounts show nobody", 1, { code: "account_not_found", message: expect.stringMatching(/^nobody: /) }],
    ["accounts create acme --plan pro", 1, { code: "account_exists", message: expect.any(String) }],
    ["orders get 7", 1, { code: "order_not_found", message: "7: There is no order with this identifier." }],
    ["orders fulfil 1", 1, { code: "order_not_shipped", message: expect.stringMatching(/^1: The order is/) }],
    ["orders place --id 1 --pet-id 2", 1, { code: "order_conflict", message: expect.any(String) }],
    [
      "orders list --postgres postgres://127.0.0.1:1/none",
      3,
      { code: "store_unavailable", message: expect.any(String) },
    ],
  ];
  await Promise.all(
    cases.map(async ([args, expected, report]) => {
      const { status, stdout, stderr } = await cli.run([...args.split(" "), "--json"]);
      expect({ args, status, stdout }).toEqual({ args, status: expected, stdout: "" });
      expect(stderr.trimEnd()).not.toContain("\n");
      expect(JSON.parse(stderr)).toEqual(report);
    }),
  );
  const help = await cli.run(["orders", "--help", "--json"]);
  expect(help).toMatchObject({ status: 0, stderr: "" });
});

test("an invalid environment variable exits with 2 and is named in the error", async () => {
  const cases = [
    [
      { STORE_ORDERS_ENVIRONMENT: "prod" },
      "keys issue --account demo",
      /STORE_ORDERS_ENVIRONMENT: 'prod' is invalid. Use test/,
    ],
    ...["0", "-1", "1.5", "5s", "3601"].map((seconds) => {
      const env = { STORE_ORDERS_KEEP_ALIVE_SECONDS: seconds };
      return [env, "serve", /STORE_ORDERS_KEEP_ALIVE_SECONDS: '.+' is invalid. Use a whole number/] as const;
    }),
    [{ STORE_ORDERS_PLAN: "gold" }, "serve", /STORE_ORDERS_PLAN: 'gold' is invalid. Use one of/],
    [{ PORT: "http" }, "serve", /PORT: 'http' is invalid. Use a port number from 0 to 65535/],
    [
      { STORE_ORDERS_DATABASE: "a.db", STORE_ORDERS_DYNAMODB: "b" },
      "accounts list",
      /STORE_ORDERS_DATABASE and STORE_ORDERS_DYNAMODB: Set only one/,
    ],
  ] as const;
  for (const [env, args, message] of cases) {
    const { status, stderr } = await cli.run(args.split(" "), { env });
    expect(status).toBe(2);
    expect(stderr).toMatch(message);
  }
});

test("an invalid port is reported before a database is created", async () => {
  await cli.run(["serve", "--port", "x", "--database", "never.db"]);
  expect(existsSync(join(cli.directory, "never.db"))).toBe(false);
});

test.each(["nope\u001b[2J", "--nope\u001b[2J", "\u009b31m"])(
  "a usage error does not repeat the control characters of the argument %j",
  async (argument) => {
    const { status, stderr } = await cli.run(["accounts", argument]);
    expect(status).toBe(2);
    expect(stderr).toMatch(/^[\x20-\x7e\n]+$/);
  },
);
