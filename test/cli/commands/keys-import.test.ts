import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { generateKey } from "../../../lib/accounts/api-key.ts";
import { hashKey } from "../../../lib/accounts/hash-key.ts";
import { useCommandLine } from "../../support/command-line.ts";

const cli = useCommandLine();

let databases = 0;

async function open() {
  const database = ["--database", `${++databases}.db`];
  for (const id of ["c1", "c2"]) await cli.run(["accounts", "create", id, "--plan", "free", ...database]);
  const run = (args: string[], input = "") => cli.run([...args, ...database], { input });
  return {
    run,
    importKeys: (input: string) => run(["keys", "import", "-", "--json"], input),
    list: () => cli.json<{ account: string; name: string; expires: string }[]>("keys", "list", ...database),
  };
}

const NAMES = ["sk_live_one", "sk_live_two", "sk_live_three"] as const;
const [ONE, TWO, THREE] = NAMES.map(hashKey) as [string, string, string];
const counts = (imported: number, unchanged = 0, expired = 0, rejected = 0) =>
  `${JSON.stringify({ imported, unchanged, expired, rejected })}\n`;

describe("keys are imported from", () => {
  const rows = [
    { hash: ONE, account: "c1", name: 'till, "two"', expires: "2099-01-01T00:00:00Z" },
    { hash: TWO.toUpperCase(), account: "c2" },
  ];
  test.each([
    ["lines of JSON", rows.map((row) => JSON.stringify(row)).join("\n")],
    ["a JSON array", JSON.stringify(rows, null, 2)],
    [
      "CSV, with a byte order mark, quotes and other line ends",
      `\ufeffhash,account,name,expires\r\n${ONE},c1,"till, ""two""",2099-01-01T00:00:00Z\r\n${TWO.toUpperCase()},c2,,\r\n`,
    ],
    [
      "a spreadsheet, with semicolons and empty rows",
      `\ufeffhash;account;name;expires\r\n${ONE};c1;"till, ""two""";2099-01-01T00:00:00Z\r\n;;;\r\n${TWO};c2;;\r\n;;;\r\n`,
    ],
    [
      "MySQL, with tabs and its words for missing values",
      `hash\taccount\tname\texpires\n${ONE}\tc1\ttill, "two"\t2099-01-01T00:00:00Z\n${TWO}\tc2\t\\N\tNULL\n\t\t\t\n`,
    ],
  ])("%s, and importing them again changes nothing", async (_name, text) => {
    const { importKeys, list } = await open();
    expect(await importKeys(text)).toMatchObject({ status: 0, stdout: counts(2), stderr: "" });
    expect(await importKeys(text)).toMatchObject({ status: 0, stdout: counts(0, 2), stderr: "" });
    expect(await list()).toMatchObject([
      { account: "c1", name: 'till, "two"', expires: "2099-01-01T00:00:00.000Z" },
      { account: "c2", name: null, expires: null },
    ]);
  });

  test("a file", async () => {
    const { run } = await open();
    await writeFile(join(cli.directory, "keys.csv"), `account,hash\nc1,${ONE}\n`);
    expect((await run(["keys", "import", "keys.csv"])).stdout).toMatch(/^imported\s+1$/m);
  });
});

test("a row that is not valid is reported with its line, never with its values, and all others are imported", async () => {
  const { importKeys } = await open();
  const rows: [string, string][] = [
    [`${ONE},c1,,`, ""],
    ["sk_live_one,c1,,", "hash: Give the SHA-256"],
    [`${TWO},nobody,,`, "nobody: There is no account"],
    [`${ONE},c2,,`, "hash: Another account has"],
    [`${TWO},c2,,tomorrow`, "expires: Give an RFC 3339"],
    [`${TWO},c2,,2020-01-01T00:00:00Z`, ""],
    [`${TWO},,,`, "account: Use 1 to 32 lower-case letters"],
    [`${TWO},c2,so_test_demo_${"0".repeat(38)},`, "name: Use 1 to 64 characters"],
  ];
  const text = `hash,account,name,expires\n${rows.map(([row]) => row).join("\n")}\n`;
  // One after another, so that the first row is imported before the fourth.
  await importKeys(text.split("\n").slice(0, 2).join("\n"));
  const { status, stdout, stderr } = await importKeys(text);
  expect([status, stdout]).toEqual([1, counts(0, 1, 1, 6)]);
  const reported = stderr
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line))
    .sort((a, b) => a.line - b.line);
  const expected = rows.flatMap(([, message], index) =>
    message === "" ? [] : [{ code: "rejected", line: index + 2, message: expect.stringContaining(message) }],
  );
  expect(reported).toEqual(expected);
  expect(stderr).not.toContain("sk_live_one");
});

test("a key that is there twice is imported once, and a row that contradicts an earlier one is rejected", async () => {
  const { importKeys, list } = await open();
  const rows = [
    `${ONE},c1,till`,
    `${ONE},c1,till`,
    `${ONE},c1,other`,
    `${ONE},c2,till`,
    `${TWO},c9,`,
    `${TWO},c2,`,
  ];
  const { status, stdout, stderr } = await importKeys(`hash,account,name\n${rows.join("\n")}\n`);
  expect([status, stdout]).toEqual([1, counts(2, 1, 0, 3)]);
  expect(stderr).toContain('"line":4,"message":"hash: An earlier row has this key with another name');
  expect(stderr).toContain('"line":5,"message":"hash: Another account has a key');
  expect(await list()).toMatchObject([{ account: "c1", name: "till" }, { account: "c2" }]);
});

test("a row that lacks columns, or cannot be read, does not stop the others", async () => {
  const { importKeys } = await open();
  const csv = await importKeys(`hash,account,name\n${ONE},c1\n${TWO},c1,a,b\n\n${THREE},c2,till\n`);
  expect(csv).toMatchObject({ status: 1, stdout: counts(2, 0, 0, 1) });
  expect(csv.stderr).toContain('"line":3,');
  const lines = [
    { hash: ONE, account: "c1" },
    { hash: TWO, account: "c1" },
  ].map((row) => JSON.stringify(row));
  const json = await importKeys(`${lines[0]}\n{"hash":\n${lines[1]}`);
  expect(json).toMatchObject({ status: 1, stdout: counts(1, 1, 0, 1) });
  expect(json.stderr).toContain('"line":2,');
});

test("a name may be the word of MySQL for a missing value, if it is quoted", async () => {
  const { importKeys, list } = await open();
  expect(await importKeys(`hash,account,name\n${ONE},c1,"NULL"\n`)).toMatchObject({ stdout: counts(1) });
  expect(await list()).toMatchObject([{ name: "NULL" }]);
});

test.each([
  ["hash|account\nx|c1", "The first line of CSV names its columns, each once: hash,account,name,expires."],
  ["sk_live_one,c1", "The first line of CSV names its columns"],
  ["hash,account,hash\nx,c1,y", "The first line of CSV names its columns"],
  ["", "The first line of CSV names its columns"],
  ["hash,account,plan\nx,c1,free", "a column: Name the columns hash, account, name, expires."],
  ["hash,account\n1,2,3", '"line":2,"message":"It has more columns than the first line."'],
  ['hash,account\n1,"sk_live_one', "-: Line 2 cannot be read: Quote Not Closed."],
  ['{"hash":', '"line":1,"message":"This is not valid JSON."'],
  ["[{]", "-: The array has no end: the file is not complete."],
  [`hash,account\n${"x".repeat(20_000)},c1`, "-: Line 2 cannot be read: Max Record Size."],
  [`{"hash":"${"x".repeat(20_000)}"}`, "It is longer than 16384 characters."],
  ['{}\n{"hash":"\ufffd"}', '"line":2,"message":"It is not UTF-8."'],
  ['["sk_live_one"]', "a column: Name the columns"],
])("%j says what is wrong", async (text, message) => {
  const { importKeys } = await open();
  const { status, stderr } = await importKeys(text);
  expect(status).not.toBe(0);
  expect(stderr).toContain(message);
  expect(stderr).not.toContain("sk_live_one");
});

test("an imported key is found, revoked and unbanned by itself, alone or within other text", async () => {
  const { importKeys, run } = await open();
  await importKeys(JSON.stringify([{ hash: THREE, account: "c2", name: "scanner" }]));
  const line = Array.from({ length: 2_000 }, (_, number) => `word${number}`).join(" ");
  for (const text of [NAMES[2], `x-api-key: ${NAMES[2]}\n`, `{"key":"${NAMES[2]}"}`, `${line} ${NAMES[2]}`]) {
    const { stdout } = await run(["keys", "find", "-", "--json"], text);
    expect(JSON.parse(stdout), text).toMatchObject({ account: "c2", name: "scanner" });
  }
  expect((await run(["keys", "find", "-"], "sk_live_four")).stderr).toContain(
    "Pass exactly one whole API key",
  );
  const both = `${generateKey("test", "c1")} ${NAMES[2]}`;
  expect((await run(["keys", "revoke", "--key", "-"], both)).stderr).toContain("the input has several keys.");
  expect((await run(["keys", "revoke", "--key", "-", "--json"], NAMES[2])).stdout).toContain('"revoked"');
});
