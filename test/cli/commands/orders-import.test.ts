import {
  createReadStream,
  existsSync,
  openSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { type ProcessIo, runProgram } from "../../../lib/cli/program.ts";
import { nextTurn } from "../../../lib/core/time.ts";
import { useCommandLine, waitForExit } from "../../support/command-line.ts";
import { noPosix, skipsBecause } from "../../support/skip-reason.ts";

const cli = useCommandLine();

const writeInput = (name: string, content: string) => {
  const path = join(cli.directory, name);
  writeFileSync(path, content);
  return path;
};

let databases = 0;
const CREATED = /^Warning: There was no store at \w+\.db, so an empty one was created\.\n/;
const newDatabase = () => ["--database", `${databases++}.db`];

test("invalid lines are reported by number and written to --rejects, the others are imported, and a repeated import changes nothing", async () => {
  const store = newDatabase();
  const invalid = [
    "not json",
    '{"id":1,"quantity":9}',
    '{"id":3,"colour":"red","quantity":-1}',
    '{"petId":3}',
    '{"id":12345678901234567890}',
    "[1]",
  ];
  const [text, other, fields, ...rest] = invalid;
  const valid = ['{"id":1}', '{"id":2,"status":"shipped"}'];
  const lines = [valid[0], text, valid[1], other, fields, "", rest[0], rest[1], "  ", rest[2]];
  const path = writeInput("orders.ndjson", `${lines.join("\n")}\n`);
  const first = await cli.run(["orders", "import", path, "--rejects", "rejects.ndjson", ...store]);
  expect(first.status).toBe(1);
  expect(first.stderr).toMatch(CREATED);
  expect(first.stderr.replace(CREATED, "").trimEnd().split("\n")).toEqual([
    "line 2: This is not valid JSON.",
    "line 4: Order 1 already exists with different content; it was not changed.",
    expect.stringMatching(
      /^line 5: colour: Unknown field\..* quantity: Write a whole number from 0 to 2147483647, in plain digits without quotes\.$/,
    ),
    "line 7: id: The identifier is missing.",
    expect.stringMatching(/^line 8: id: The number is too large\. Write a whole number/),
    "line 10: An order must be a JSON object.",
  ]);
  expect(first.stdout).toBe("placed      2\nunchanged   0\nrejected    6\n");
  expect(readFileSync(join(cli.directory, "rejects.ndjson"), "utf8")).toBe(`${invalid.join("\n")}\n`);

  const again = await cli.run(["orders", "import", path, "--json", ...store]);
  expect(again).toMatchObject({ status: 1, stdout: '{"placed":0,"unchanged":2,"rejected":6}\n' });
  const exported = await cli.run(["orders", "export", ...store]);
  expect(exported.stdout).toBe('{"id":1,"status":"pending"}\n{"id":2,"status":"shipped"}\n');
});

test("an import without rejected lines exits with 0, with CRLF, a byte order mark and no final newline, from a file and standard input", async () => {
  const store = newDatabase();
  const input = '\ufeff{"id":1}\r\n\r\n{"id":9223372036854775807,"petId":-9223372036854775808}\r\n{"id":2}';
  const first = await cli.run(["orders", "import", "-", "--json", ...store], { input });
  expect(first).toEqual({ status: 0, stdout: '{"placed":3,"unchanged":0,"rejected":0}\n', stderr: "" });
  const again = await cli.run(["orders", "import", writeInput("crlf.ndjson", input), "--json", ...store]);
  expect(again).toEqual({ status: 0, stdout: '{"placed":0,"unchanged":3,"rejected":0}\n', stderr: "" });
  const nothing = await cli.run(["orders", "import", writeInput("nothing", ""), ...store]);
  expect(nothing).toMatchObject({ status: 0, stdout: "placed      0\nunchanged   0\nrejected    0\n" });
});

test("a complete order that was not shipped is rejected, and a list of the API is imported with --status", async () => {
  const input = [
    '{"id":50,"complete":true}',
    '{"id":51,"complete":true,"status":"cancelled"}',
    '{"id":52,"quantity":2}',
  ].join("\n");
  const store = newDatabase();
  const rejected = await cli.run(["orders", "import", "-", ...store], { input });
  expect(rejected).toMatchObject({ status: 1, stdout: "placed      1\nunchanged   0\nrejected    2\n" });
  expect(rejected.stderr).toContain("line 1: complete: The order is complete and pending, which cannot be");
  const placed = await cli.run(["orders", "import", "-", "--status", "pending", ...store], { input });
  expect(placed).toMatchObject({ stdout: "placed      1\nunchanged   1\nrejected    1\n" });
  expect((await cli.run(["orders", "export", ...store])).stdout).toBe(
    '{"id":50,"complete":true,"status":"shipped"}\n{"id":52,"quantity":2,"status":"pending"}\n',
  );
});

const LINES = '{"id":1,"quantity":2}\n{"id":9223372036854775807}\n';

test.each<[name: string, content: string | Buffer]>([
  ["gzip", gzipSync(LINES)],
  ["gzip of two parts, and zeros", Buffer.concat([gzipSync(LINES), gzipSync(""), Buffer.alloc(70_000)])],
  ["a JSON array", `[${LINES.trim().replace("\n", ",")}]`],
  [
    "a formatted JSON array",
    '\ufeff[\n  {\r\n    "id": 1,\n    "quantity": 2\n  },\n  {"id": 9223372036854775807}\n]\n',
  ],
  ["a JSON array in gzip", gzipSync(`[${LINES.trim().replace("\n", ",")}]`)],
])("%s is imported as it is", async (_name, content) => {
  const store = newDatabase();
  const path = join(cli.directory, "import.bin");
  writeFileSync(path, content);
  expect(await cli.run(["orders", "import", path, "--json", ...store])).toMatchObject({
    ...{ status: 0, stdout: '{"placed":2,"unchanged":0,"rejected":0}\n' },
  });
  const again = await cli.run(["orders", "import", "-", "--json", ...store], { input: LINES });
  expect(again.stdout).toBe('{"placed":0,"unchanged":2,"rejected":0}\n');
});

test("an element of an array that is no order is rejected by its number, and text in a string divides nothing", async () => {
  const input = '[{"id":1},{"id":2,"a,]\\"}":1},{"id":3},\n[4]]';
  const { stdout, stderr } = await cli.run(["orders", "import", "-", ...newDatabase()], { input });
  expect(stdout).toBe("placed      2\nunchanged   0\nrejected    2\n");
  expect(stderr).toMatch(/line 2: .*Unknown field.*\nline 4: An order must be a JSON object\.\n/);
});

test.each<[name: string, content: string | Buffer, message: RegExp]>([
  ["UTF-16", Buffer.from(`\ufeff${LINES}`, "utf16le"), /The file is UTF-16\. Convert it: iconv/],
  ["UTF-16 without a mark", Buffer.from(LINES, "utf16le"), /The file is UTF-16/],
  ["CSV", "id,petId,quantity\n1,2,3\n", /The file is CSV\. Write one JSON object per line/],
  [
    "concatenated JSON",
    LINES.replaceAll("\n", ""),
    /not one per line\. Write one JSON object per line: jq -c/,
  ],
  ["formatted JSON", '{\n  "id": 1\n}\n', /not one per line/],
  ["an array that was cut", '[{"id":1},\n', /The array has no end/],
  ["more after an array", '[{"id":1}]\n{"id":2}\n', /There is more after the array/],
  ["an array without its second element", '[{"id":1},,{"id":2}]', /has a comma without an element/],
  ["an array with a comma at its end", '[{"id":1}, \n]', /has a comma without an element/],
  [
    "gzip of two parts, the second of which begins with a zero byte",
    Buffer.concat([gzipSync(LINES), Buffer.from([0]), gzipSync(LINES)]),
    /after a part of it there is something that is not gzip/,
  ],
  [
    "gzip that was cut",
    gzipSync(LINES).subarray(0, -9),
    /import\.bin: It cannot be unpacked: unexpected end/,
  ],
  ["CSV in gzip", gzipSync("id;pet\n1;2\n"), /The file is CSV/],
])("%s is an error that says once what the file is", async (_name, content, message) => {
  const path = join(cli.directory, "import.bin");
  writeFileSync(path, content);
  const { status, stderr } = await cli.run(["orders", "import", path, ...newDatabase()]);
  expect([status, stderr]).toEqual([2, expect.stringMatching(message)]);
  expect(stderr).not.toMatch(/^line /m);
});

test.skipIf(skipsBecause("a link as a --rejects file", noPosix))("a --rejects file is no link", async () => {
  const path = writeInput("theirs", "precious\n");
  symlinkSync(path, join(cli.directory, "link.rejects"));
  const args = ["orders", "import", "-", "--rejects", "link.rejects", ...newDatabase()];
  const { status, stderr } = await cli.run(args, { input: "x" });
  expect([status, stderr]).toEqual([2, expect.stringContaining("This is a link")]);
  expect(readFileSync(path, "utf8")).toBe("precious\n");
});

test("- is no file to write", async () => {
  const store = newDatabase();
  await cli.run(["orders", "import", "-", ...store]);
  for (const args of [
    ["orders", "import", "-", "--rejects", "-"],
    ["database", "backup", "-"],
  ]) {
    const { status, stderr } = await cli.run([...args, ...store], { input: "x" });
    expect([status, stderr]).toEqual([2, expect.stringContaining("Name a file.")]);
  }
  expect(existsSync(join(cli.directory, "-"))).toBe(false);
});

test("standard input that is a file is never overwritten by --rejects", async () => {
  const path = writeInput("piped.ndjson", "precious\n");
  const stderr = new PassThrough();
  const status = await runProgram({
    argv: ["orders", "import", "-", "--rejects", path, "--database", join(cli.directory, "piped.db")],
    ...{
      env: {},
      stdin: createReadStream("", { fd: openSync(path, "r") }),
      stdout: new PassThrough(),
      stderr,
    },
    waitForStop: () => new Promise(() => {}),
  });
  stderr.end();
  expect(await text(stderr)).toContain("This is the file to import; name a different one.");
  expect([status, readFileSync(path, "utf8")]).toEqual([2, "precious\n"]);
});

test.skipIf(skipsBecause("the mode of a file", noPosix))(
  "only its owner reads a --rejects file",
  async () => {
    writeFileSync(join(cli.directory, "public.rejects"), "", { mode: 0o644 });
    for (const name of ["new.rejects", "public.rejects"]) {
      await cli.run(["orders", "import", "-", "--rejects", name, ...newDatabase()], { input: "x" });
      expect(statSync(join(cli.directory, name)).mode & 0o777, name).toBe(0o600);
    }
  },
);

test.each(["", "-wal", "-shm"])("the database is never overwritten by --rejects: %j", async (suffix) => {
  const store = newDatabase();
  await cli.run(["orders", "place", "--id", "1", ...store]);
  const args = ["orders", "import", "-", "--rejects", `${store[1]}${suffix}`, ...store];
  const { status, stderr } = await cli.run(args, { input: '{"id":2}\nx' });
  expect([status, stderr]).toEqual([2, expect.stringContaining("This is the database; name a different")]);
  expect((await cli.run(["orders", "export", ...store])).stdout).toBe('{"id":1,"status":"pending"}\n');
});

test("a slow reader of standard error gets every rejected line", async () => {
  const child = cli.spawn(["orders", "import", "-", ...newDatabase()]);
  const line = `{"${"x".repeat(300)}":1}\n`;
  child.stdin.end(line.repeat(20_000));
  await sleep(500);
  const { status, stderr } = await waitForExit(child);
  expect(status).toBe(1);
  expect(stderr.match(/^line \d+: /gm)?.length).toBe(20_000);
});

test("the imported file is never overwritten by --rejects, whatever path names it", async () => {
  const path = writeInput("precious.ndjson", "precious\n");
  const args = ["orders", "import", path, "--rejects", "precious.ndjson"];
  const { status, stderr } = await cli.run([...args, ...newDatabase()]);
  expect(status).toBe(2);
  expect(stderr).toContain("This is the file to import; name a different one.");
  expect(readFileSync(path, "utf8")).toBe("precious\n");
});

/** Runs a command in this process, with standard error on a terminal. */
async function runOnTerminal(
  args: readonly string[],
  options: Partial<Pick<ProcessIo, "env" | "waitForStop">> & { input?: string; isTTY?: boolean } = {},
) {
  const { input, isTTY = false, waitForStop = () => new Promise(() => {}), env = {} } = options;
  const stderr = Object.assign(new PassThrough(), { isTTY: true, columns: 200 });
  const [stdin, stdout] = [new PassThrough(), Object.assign(new PassThrough(), { isTTY })];
  if (input !== undefined) stdin.end(input);
  const result = text(stdout);
  const status = await runProgram({ env, stdin, stdout, stderr, waitForStop, argv: args });
  stderr.end();
  stdout.end();
  return { status, screen: await text(stderr), result: await result };
}

test("an interactive terminal shows a progress bar, and rejected lines above it", async () => {
  const input = Array.from({ length: 2_500 }, (_, id) => (id === 3 ? "x" : `{"id":${id}}`)).join("\n");
  const run = (source: string) => {
    const database = join(cli.directory, `${databases++}.db`);
    return runOnTerminal(["orders", "import", source, "--database", database, "--json"], { input });
  };
  const withSize = await run(writeInput("progress.ndjson", input));
  expect(withSize).toMatchObject({ status: 1, result: '{"placed":2499,"unchanged":0,"rejected":1}\n' });
  expect(withSize.screen).toContain(`"line":4,"message":"This is not valid JSON."`);
  expect(withSize.screen).toMatch(/█+ 100% \| 2,499 placed, 0 unchanged, 1 rejected/);
  const streamed = await run("-");
  expect(streamed.screen).toContain("2,499 placed, 0 unchanged, 1 rejected");
  expect(streamed.screen).not.toContain("%");
});

test("a terminal that cannot move its cursor gets lines, and no control character", async () => {
  const file = writeInput("dumb.ndjson", '{"id":1}\nx\n{"id":2}');
  const args = ["orders", "import", file, "--database", join(cli.directory, "dumb.db")];
  const { screen } = await runOnTerminal(args, { env: { TERM: "dumb" } });
  expect(screen).toContain("line 2: This is not valid JSON.");
  expect(screen).not.toMatch(/[^\n -~]/);
});

test("an import that a signal stops prints how to continue, and continues when it is repeated", async () => {
  const count = 10_000;
  const lines = Array.from({ length: count }, (_, id) => `{"id":${id},"petId":7}\n`).join("");
  const file = writeInput("interrupted.ndjson", lines);
  const path = join(cli.directory, "interrupted.db");
  const store = ["--database", path];
  const waitForStop = async () => {
    while (ordersIn(path) === 0) await nextTurn();
    return "SIGINT";
  };
  const { status, screen, result } = await runOnTerminal(["orders", "import", file, ...store], {
    waitForStop,
  });
  expect({ status, result }).toEqual({ status: 1, result: "" });
  expect(screen).toMatch(
    /The import stopped after line \d+\. To continue, import the same file again; orders that were imported are skipped\.\n/,
  );
  const imported = ordersIn(path);
  expect(imported).toBeLessThan(count);
  const rest = { placed: count - imported, unchanged: imported, rejected: 0 };
  expect(await cli.json("orders", "import", file, ...store)).toEqual(rest);
});

test("an import that waits for standard input stops at a signal", async () => {
  const waitForStop = async () => "SIGINT";
  const args = ["orders", "import", "-", "--database", join(cli.directory, "waiting.db")];
  const { status, screen } = await runOnTerminal(args, { waitForStop });
  expect(status).toBe(1);
  expect(screen).toMatch(/The import stopped after line 0\. To continue, import the same file again/);
});

test("an export into a file shows its progress on a terminal, and one onto the terminal does not", async () => {
  const database = join(cli.directory, "exported.db");
  const input = Array.from({ length: 12_000 }, (_, id) => `{"id":${id}}\n`).join("");
  await cli.run(["orders", "import", "-", "--database", database], { input });
  for (const isTTY of [false, true]) {
    const args = ["orders", "export", "--database", database];
    const { status, screen, result } = await runOnTerminal(args, { isTTY });
    expect([status, result.match(/\n/g)?.length]).toEqual([0, 12_000]);
    if (isTTY) expect(screen).toBe("");
    else expect(screen).toContain("12,000 orders exported");
  }
});

/** The number of committed orders in a database file, which may not exist yet. */
function ordersIn(path: string): number {
  try {
    const db = new DatabaseSync(path, { readOnly: true });
    try {
      return Number(db.prepare("SELECT count(*) AS count FROM orders").get()?.["count"]);
    } finally {
      db.close();
    }
  } catch {
    return 0;
  }
}
