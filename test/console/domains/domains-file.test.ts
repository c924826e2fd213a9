import { execFileSync } from "node:child_process";
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openDomainsFile } from "../../../lib/console/domains/domains-file.ts";
import { readTextFile } from "../../../lib/console/domains/read-file.ts";
import { replaceFile } from "../../../lib/console/domains/replace-file.ts";

let directory: string;
let path: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "console-domains-"));
  path = join(directory, "domains.yaml");
  writeFileSync(path, "domains:\n  primary: a.example.com\n");
});
afterEach(() => rmSync(directory, { recursive: true }));

const ADD = { kind: "add", host: "b.example.com", role: "alias" } as const;

async function versionOf(file: string): Promise<string> {
  const snapshot = await openDomainsFile(file, "pro").read();
  if (!snapshot.ok) throw new Error(JSON.stringify(snapshot));
  return snapshot.version;
}

describe("a change replaces the file", () => {
  test("at once: another inode, the same mode and owner, and nothing left beside it", async () => {
    chmodSync(path, 0o640);
    if (process.getuid?.() === 0) execFileSync("chown", ["65534:65534", path]);
    const before = statSync(path);
    expect(await openDomainsFile(path, "pro").change(await versionOf(path), ADD)).toMatchObject({ ok: true });
    const after = statSync(path);
    expect(after.ino).not.toBe(before.ino);
    expect([after.mode, after.uid, after.gid]).toEqual([before.mode, before.uid, before.gid]);
    expect(readdirSync(directory)).toEqual(["domains.yaml"]);
    expect(readFileSync(path, "utf8")).toContain("aliases: [ b.example.com ]");
  });

  test("and a symbolic link to it stays one", async () => {
    const link = join(directory, "link.yaml");
    symlinkSync("domains.yaml", link);
    expect(await openDomainsFile(link, "pro").change(await versionOf(link), ADD)).toMatchObject({ ok: true });
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    expect(readFileSync(path, "utf8")).toContain("b.example.com");
  });
});

describe("somebody else's change is not overwritten", () => {
  const theirs = "domains:\n  primary: theirs.example.com\n";

  test("if it came before the request", async () => {
    const version = await versionOf(path);
    writeFileSync(path, theirs);
    const result = await openDomainsFile(path, "pro").change(version, ADD);
    expect(result).toMatchObject({ ok: false, code: "file_changed" });
    expect(readFileSync(path, "utf8")).toBe(theirs);
  });

  test("if it comes while the new content is being written", async () => {
    const read = await readTextFile(path);
    if (!read.ok) throw new Error(read.message);
    writeFileSync(path, theirs);
    expect(await replaceFile(path, read.content, "ours")).toMatchObject({ ok: false, code: "file_changed" });
    expect(readFileSync(path, "utf8")).toBe(theirs);
    expect(readdirSync(directory)).toEqual(["domains.yaml"]);
  });

  test("if the link leads to another file by then, even one with the same content", async () => {
    const [link, victim] = [join(directory, "link.yaml"), join(directory, "victim.yaml")];
    symlinkSync("domains.yaml", link);
    const version = await versionOf(link);
    writeFileSync(victim, readFileSync(path));
    symlinkSync("victim.yaml", `${link}.new`);
    renameSync(`${link}.new`, link);
    const result = await openDomainsFile(link, "pro").change(version, ADD);
    expect(result).toMatchObject({ code: "file_changed" });
    expect(readFileSync(victim, "utf8")).not.toContain("b.example.com");
  });

  test("of ten consoles that change the same version, exactly one does", async () => {
    const version = await versionOf(path);
    const results = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        openDomainsFile(path, "pro").change(version, { ...ADD, host: `b${index}.example.com` }),
      ),
    );
    expect(results.filter(({ ok }) => ok)).toHaveLength(1);
    const codes = results.flatMap((result) => (result.ok ? [] : [result.code]));
    expect(new Set(codes)).toEqual(new Set(["file_changed"]));
    expect(readFileSync(path, "utf8").match(/b\d/g)).toHaveLength(1);
    expect(readdirSync(directory)).toEqual(["domains.yaml"]);
  });

  test("a prepared link in the place of the new content is not followed", async () => {
    const victim = join(directory, "victim");
    writeFileSync(victim, "precious");
    symlinkSync(victim, join(directory, ".domains.yaml.next"));
    const result = await openDomainsFile(path, "pro").change(await versionOf(path), ADD);
    expect(result).toMatchObject({ ok: false, code: "not_written" });
    expect(readFileSync(victim, "utf8")).toBe("precious");
  });
});

describe("a file that is not a valid domains file", () => {
  test.each([
    ["domains:\n  primary: [x\n foo: 1\n", { line: 3, column: 2 }],
    [
      "domains:\n  primary: a.example.com\n  redirects:\n    - { from: b, to: a.example.com }\n",
      { line: 4, column: 15 },
    ],
    ["domains:\n  primary: a.example.com\n  oops: 1\n", { line: 3, column: 9, path: "domains.oops" }],
    ["", { message: "Write the mapping under 'domains'." }],
    [
      "domains: {}\n---\ndomains: {}\n",
      { message: "There are several documents, separated by '---'. Keep one." },
    ],
  ])("is shown with line and column: %j", async (text, problem) => {
    writeFileSync(path, text);
    const snapshot = await openDomainsFile(path, "pro").read();
    expect(snapshot).toMatchObject({
      ok: false,
      problems: expect.arrayContaining([expect.objectContaining(problem)]),
    });
  });

  test.each([
    ["a huge file", () => writeFileSync(path, "#".repeat(2 ** 18 + 1)), "The file is larger than 256 KiB"],
    [
      "a file of other bytes",
      () => writeFileSync(path, Buffer.from([0x64, 0xff])),
      "The file is not UTF-8 text.",
    ],
    ["no file", () => rmSync(path), "The file does not exist (ENOENT)."],
    [
      "a directory",
      () => {
        rmSync(path);
        mkdirSync(path);
      },
      "This is not a file.",
    ],
    [
      "a pipe that nobody writes",
      () => {
        rmSync(path);
        execFileSync("mkfifo", [path]);
      },
      "This is not a file.",
    ],
    [
      "aliases that multiply",
      () =>
        writeFileSync(
          path,
          `a: &a [x,x]\n${"bcdefghij".replace(/./g, (name) => {
            const before = String.fromCharCode(name.charCodeAt(0) - 1);
            return `${name}: &${name} [*${before},*${before},*${before},*${before}]\n`;
          })}domains: {}\n`,
        ),
      "Excessive alias count",
    ],
  ])("%s is reported, quickly", async (_, prepare, message) => {
    prepare();
    const snapshot = await openDomainsFile(path, "pro").read();
    expect(!snapshot.ok && snapshot.problems[0]?.message).toContain(message);
    expect(await openDomainsFile(path, "pro").change("", ADD)).toMatchObject({ ok: false });
  });
});
