import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { afterAll, expect, test } from "vitest";
import { runProgram } from "../../../lib/cli/program.ts";
import { MAX_LINE_BYTES } from "../../../lib/orders/lines.ts";
import { commandLine } from "../../support/command-line.ts";

const cli = commandLine();
afterAll(() => cli[Symbol.dispose]());
const file = (name: string, content: string | Uint8Array) => {
  const path = join(cli.folder, name);
  writeFileSync(path, content);
  return path;
};

let databases = 0;
const fresh = () => ["--database", `${databases++}.db`];

test("bad lines are named by number, written out as they came, and stop no other; again changes nothing", async () => {
  const store = fresh();
  const bad = [
    "not json",
    '{"id":1,"quantity":9}',
    '{"id":3,"colour":"red","quantity":-1}',
    '{"petId":3}',
    '{"id":12345678901234567890}',
    "[1]",
  ];
  const lines = [
    '{"id":1}',
    bad[0],
    '{"id":2,"status":"shipped"}',
    bad[1],
    bad[2],
    "",
    bad[3],
    bad[4],
    "  ",
    bad[5],
  ];
  const path = file("orders.ndjson", `${lines.join("\n")}\n`);
  const first = await cli.run(["orders", "import", path, "--rejects", "rejects.ndjson", ...store]);
  expect(first.status).toBe(1);
  expect(first.stderr.trimEnd().split("\n")).toEqual([
    "line 2: This is not JSON.",
    "line 4: Order 1 exists with other content; it has not been changed.",
    expect.stringMatching(
      /^line 5: colour: Unknown field\..*; quantity: Write a whole number of at least 0\.$/,
    ),
    expect.stringMatching(/^line 7: id: Write a whole number/),
    expect.stringMatching(/^line 8: id: Write a whole number/),
    "line 10: An order is a JSON object.",
  ]);
  expect(first.stdout).toBe("placed      2\nunchanged   0\nrejected    6\n");
  expect(readFileSync(join(cli.folder, "rejects.ndjson"), "utf8")).toBe(`${bad.join("\n")}\n`);

  const again = await cli.run(["orders", "import", path, "--json", ...store]);
  expect(again).toMatchObject({ status: 1, stdout: '{"placed":0,"unchanged":2,"rejected":6}\n' });
  const exported = await cli.run(["orders", "export", ...store]);
  expect(exported.stdout).toBe('{"id":1,"status":"pending"}\n{"id":2,"status":"shipped"}\n');
});

test("every order good: 0, over standard input too; CRLF, a byte order mark, no newline at the end", async () => {
  const store = fresh();
  const input = '\ufeff{"id":1}\r\n\r\n{"id":9223372036854775807,"petId":-9223372036854775808}\r\n{"id":2}';
  const first = await cli.run(["orders", "import", "-", "--json", ...store], { input });
  expect(first).toEqual({ status: 0, stdout: '{"placed":3,"unchanged":0,"rejected":0}\n', stderr: "" });
  const again = await cli.run(["orders", "import", file("crlf.ndjson", input), "--json", ...store]);
  expect(again).toEqual({ status: 0, stdout: '{"placed":0,"unchanged":3,"rejected":0}\n', stderr: "" });
  const nothing = await cli.run(["orders", "import", file("nothing", ""), ...store]);
  expect(nothing).toMatchObject({ status: 0, stdout: "placed      0\nunchanged   0\nrejected    0\n" });
});

test("bytes that are not UTF-8 and a line that never ends are rejected, and kept as they came", async () => {
  const monstrous = new Uint8Array(3 * MAX_LINE_BYTES + 7).fill(120);
  const invalid = Uint8Array.of(0x7b, 0xff, 0xfe, 0x7d);
  const newline = Uint8Array.of(10);
  const input = Buffer.concat([
    monstrous,
    newline,
    invalid,
    newline,
    Buffer.from('{"id":44}'),
    newline,
    monstrous,
  ]);
  const words = ["orders", "import", file("odd", input), "--rejects", "odd.rejects", "--json", ...fresh()];
  const { status, stdout, stderr } = await cli.run(words);
  expect(stderr).toBe(
    "line 1: The line is longer than 1048576 bytes.\nline 2: This is not UTF-8.\nline 4: The line is longer than 1048576 bytes.\n",
  );
  expect({ status, stdout }).toEqual({ status: 1, stdout: '{"placed":1,"unchanged":0,"rejected":3}\n' });
  const kept = readFileSync(join(cli.folder, "odd.rejects"));
  expect(kept.equals(Buffer.concat([monstrous, newline, invalid, newline, monstrous, newline]))).toBe(true);
});

test("what a line says cannot steer the terminal that its reason is shown on", async () => {
  const input = `{"id":1,"\\u001b[2J${"x".repeat(5_000)}":1}`;
  const { stderr } = await cli.run(["orders", "import", "-", ...fresh()], { input });
  expect(stderr).toMatch(/^line 1: \\u001b\[2Jx+…\n$/);
  expect(stderr.length).toBeLessThan(600);
});

test("the file to import is never taken for the rejects, under no name", async () => {
  const path = file("precious.ndjson", "precious\n");
  const { status, stderr } = await cli.run([
    "orders",
    "import",
    path,
    "--rejects",
    "precious.ndjson",
    ...fresh(),
  ]);
  expect(status).toBe(2);
  expect(stderr).toContain("This is the file to import; give another.");
  expect(readFileSync(path, "utf8")).toBe("precious\n");
});

test("a bar is drawn where a person watches, and rejected lines stand above it", async () => {
  const lines = Array.from({ length: 2_500 }, (_, id) => (id === 3 ? "x" : `{"id":${id}}`)).join("\n");
  async function watched(words: readonly string[]) {
    const stderr = Object.assign(new PassThrough(), { isTTY: true, columns: 200 });
    const [stdin, stdout] = [new PassThrough(), new PassThrough()];
    stdin.end(lines);
    const database = join(cli.folder, `${databases++}.db`);
    const stopped = () => new Promise<void>(() => {});
    const options = ["--database", database, "--json"];
    const surroundings = { env: {}, stdin, stdout, stderr, stopped, argv: [...words, ...options] };
    const status = await runProgram(surroundings);
    stderr.end();
    stdout.end();
    return { status, screen: await text(stderr), result: await text(stdout) };
  }

  const known = await watched(["orders", "import", file("watched.ndjson", lines)]);
  expect(known).toMatchObject({ status: 1, result: '{"placed":2499,"unchanged":0,"rejected":1}\n' });
  expect(known.screen).toMatch(/line 4: This is not JSON\./);
  expect(known.screen).toMatch(/█+ 100% \| 2499 placed, 0 unchanged, 1 rejected/);
  const streamed = await watched(["orders", "import", "-"]);
  expect(streamed.screen).toContain("2499 placed, 0 unchanged, 1 rejected");
  expect(streamed.screen).not.toContain("%");
});
