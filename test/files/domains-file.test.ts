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
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  changeDomains,
  changeDomainsFile,
  type DomainChange,
  findDomains,
  replaceFile,
  watchDomainsFile,
} from "../../lib/files/domains-file.ts";
import { readTextFile } from "../../lib/files/read.ts";

const FILE = `# yaml-language-server: $schema=domains.schema.json
domains:
  primary: orders.example.com # the shop

  # partners use it
  aliases: [ api.example.com ]
  redirects:
    # all of them
    - { from: www.orders.example.com, to: orders.example.com, status: 301 }
    # printed on the bags
    - from: "shop.example.com"
      to: Orders.Example.com. # since 2024

# the end
`;

const change = (text: string, ...changes: readonly DomainChange[]) =>
  changes.reduce((before, each) => {
    const result = changeDomains(before, "pro", each);
    if (!result.ok) throw new Error(JSON.stringify(result));
    return result.text;
  }, text);

/** The lines that only one of two texts has. */
function difference(before: string, after: string): readonly string[] {
  const [old, now] = [before.split("\n"), after.split("\n")];
  return [
    ...old.filter((line) => !now.includes(line)).map((line) => `- ${line}`),
    ...now.filter((line) => !old.includes(line)).map((line) => `+ ${line}`),
  ];
}

describe("a change leaves the order, the other hosts and the comments above and beside them", () => {
  test.each<[string, DomainChange, readonly string[]]>([
    [
      "an alias is added",
      { kind: "add", host: "new.example.com", role: "alias" },
      ["-   aliases: [ api.example.com ]", "+   aliases: [ api.example.com, new.example.com ]"],
    ],
    [
      "a redirect is added",
      { kind: "add", host: "old.example.com", role: "redirect" },
      ["+     - { from: old.example.com, to: orders.example.com, status: 301 }"],
    ],
    [
      "an alias is removed",
      { kind: "remove", host: "api.example.com" },
      ["-   aliases: [ api.example.com ]", "+   aliases: []"],
    ],
    [
      "the first redirect is removed; the comment above the list stays",
      { kind: "remove", host: "www.orders.example.com" },
      ["-     - { from: www.orders.example.com, to: orders.example.com, status: 301 }"],
    ],
    [
      "the last redirect is removed, with the comments above and on its own line",
      { kind: "remove", host: "shop.example.com" },
      [
        "-     # printed on the bags",
        '-     - from: "shop.example.com"',
        "-       to: Orders.Example.com. # since 2024",
      ],
    ],
  ])("%s", (_, each, expected) => {
    expect(difference(FILE, change(FILE, each))).toEqual(expected);
  });

  test("a file with other spacing, quotes and line ends", () => {
    const file = `domains:   # all
    aliases:
    # before a
    -   'a.example.com'
    # before b
    -   b.example.com
    # before c
    -   "c.example.com"
    # after c
    primary:     p.example.com # main`;
    expect(
      change(
        file.replaceAll("\n", "\r\n"),
        { kind: "remove", host: "b.example.com" },
        { kind: "add", host: "d.example.com", role: "alias" },
        { kind: "add", host: "e.example.com", role: "redirect" },
      ).split("\r\n"),
    ).toEqual(
      `domains:
  # all
  aliases:
    # before a
    - 'a.example.com'
    # before c
    - "c.example.com"
    - d.example.com
    # after c
  primary: p.example.com # main
  redirects:
    - { from: e.example.com, to: p.example.com, status: 301 }
`.split("\n"),
    );
  });

  test("a JSON file stays JSON", () => {
    const file = '{"domains":{"primary":"a.example.com"}}';
    const changed = change(file, { kind: "add", host: "b.example.com", role: "redirect" });
    expect(JSON.parse(changed)).toEqual({
      domains: {
        primary: "a.example.com",
        redirects: [{ from: "b.example.com", to: "a.example.com", status: 301 }],
      },
    });
  });
});

test("from the first domain to the last removal", () => {
  const added = change(
    "domains: {}\n",
    { kind: "add", host: "a.example.com", role: "redirect" },
    { kind: "add", host: "b.example.com", role: "alias" },
    { kind: "add", host: "c.example.com", role: "redirect" },
  );
  expect(added).toBe(`domains:
  primary: a.example.com
  aliases: [ b.example.com ]
  redirects:
    - { from: c.example.com, to: a.example.com, status: 301 }
`);
  const removed = ["b", "c", "a"].map((name) => ({ kind: "remove", host: `${name}.example.com` }) as const);
  expect(change(added, ...removed)).toBe("domains:\n  aliases: []\n  redirects: []\n");
});

describe("nothing is written", () => {
  test("for a host that the rules of every domains file reject", () => {
    const result = changeDomains(FILE, "pro", { kind: "add", host: "&anchor", role: "alias" });
    expect(result).toMatchObject({ ok: false, code: "invalid_domains" });
    expect(!result.ok && "issues" in result && result.issues.map((issue) => issue.message)).toEqual([
      'A hostname cannot contain "&". Use only letters, digits, hyphens and dots.',
    ]);
  });

  test("for the primary while others need it, and for a plan without domains", () => {
    const host = "orders.example.com";
    const file = `domains:\n  aliases: [ a.example.com ]\n  # main\n  primary: ${host}\n`;
    expect(changeDomains(file, "pro", { kind: "remove", host })).toMatchObject({ code: "invalid_domains" });
    expect(
      changeDomains("domains: {}", "free", { kind: "add", host: "a.example.com", role: "alias" }),
    ).toMatchObject({ code: "invalid_domains" });
  });

  test.each([
    ["a file with an error", "domains: [", "invalid_file"],
    ["anchors", "x: &x a.example.com\ndomains: { primary: *x }", "invalid_file"],
    [
      "anchors that are valid",
      "domains:\n  primary: &p a.example.com\n  redirects: [{ from: b.example.com, to: *p }]",
      "not_editable",
    ],
    [
      "a merge key",
      "%YAML 1.1\n---\ndomains:\n  <<: { primary: a.example.com }\n  aliases: [b.example.com]",
      "not_editable",
    ],
    [
      "a merge key with a tag",
      "domains:\n  primary: a.example.com\n  !!merge <<: { aliases: [b.example.com] }",
      "not_editable",
    ],
    [
      "a merge key at the top",
      "%YAML 1.1\n---\n<<: { domains: { primary: a.example.com, aliases: [b.example.com] } }",
      "not_editable",
    ],
  ])("for %s", (_, text, code) => {
    const result = changeDomains(text, "pro", { kind: "remove", host: "b.example.com" });
    expect(result).toMatchObject({ ok: false, code });
  });
});

let directory: string;
let path: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "console-domains-"));
  path = join(directory, "domains.yaml");
  writeFileSync(path, "domains:\n  primary: a.example.com\n");
});
afterEach(() => rmSync(directory, { recursive: true }));

const ADD = { kind: "add", host: "b.example.com", role: "alias" } as const;

const open = (file: string) => ({
  read: () => findDomains(file, "pro"),
  change: (version: string, each: DomainChange) => changeDomainsFile(file, "pro", version, each),
});

function versionOf(file: string): string {
  const snapshot = findDomains(file, "pro");
  if (!snapshot.ok) throw new Error(JSON.stringify(snapshot));
  return snapshot.version;
}

describe("a change replaces the file", () => {
  test("at once: another inode, the same mode and owner, and nothing left beside it", async () => {
    chmodSync(path, 0o640);
    if (process.getuid?.() === 0) execFileSync("chown", ["65534:65534", path]);
    const before = statSync(path);
    expect(await open(path).change(versionOf(path), ADD)).toMatchObject({ ok: true });
    const after = statSync(path);
    expect(after.ino).not.toBe(before.ino);
    expect([after.mode, after.uid, after.gid]).toEqual([before.mode, before.uid, before.gid]);
    expect(readdirSync(directory)).toEqual(["domains.yaml"]);
    expect(readFileSync(path, "utf8")).toContain("aliases: [ b.example.com ]");
  });

  test("and a symbolic link to it stays one", async () => {
    const link = join(directory, "link.yaml");
    symlinkSync("domains.yaml", link);
    expect(await open(link).change(versionOf(link), ADD)).toMatchObject({ ok: true });
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    expect(readFileSync(path, "utf8")).toContain("b.example.com");
  });
});

describe("somebody else's change is not overwritten", () => {
  const theirs = "domains:\n  primary: theirs.example.com\n";

  test("if it came before the request", async () => {
    const version = versionOf(path);
    writeFileSync(path, theirs);
    const result = await open(path).change(version, ADD);
    expect(result).toMatchObject({ ok: false, code: "file_changed" });
    expect(readFileSync(path, "utf8")).toBe(theirs);
  });

  test("if it comes while the new content is being written", async () => {
    const read = readTextFile(path);
    if (!read.ok) throw new Error(read.message);
    writeFileSync(path, theirs);
    expect(await replaceFile(path, read, "ours")).toMatchObject({ ok: false, code: "file_changed" });
    expect(readFileSync(path, "utf8")).toBe(theirs);
    expect(readdirSync(directory)).toEqual(["domains.yaml"]);
  });

  test("if the link leads to another file by then, even one with the same content", async () => {
    const [link, victim] = [join(directory, "link.yaml"), join(directory, "victim.yaml")];
    symlinkSync("domains.yaml", link);
    const version = versionOf(link);
    writeFileSync(victim, readFileSync(path));
    symlinkSync("victim.yaml", `${link}.new`);
    renameSync(`${link}.new`, link);
    const result = await open(link).change(version, ADD);
    expect(result).toMatchObject({ code: "file_changed" });
    expect(readFileSync(victim, "utf8")).not.toContain("b.example.com");
  });

  test("of ten consoles that change the same version, exactly one does", async () => {
    const version = versionOf(path);
    const results = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        open(path).change(version, { ...ADD, host: `b${index}.example.com` }),
      ),
    );
    expect(results.filter(({ ok }) => ok)).toHaveLength(1);
    const codes = results.flatMap((result) => (result.ok ? [] : [result.code]));
    for (const code of codes) expect(["file_changed", "not_written"]).toContain(code);
    expect(readFileSync(path, "utf8").match(/b\d/g)).toHaveLength(1);
    expect(readdirSync(directory)).toEqual(["domains.yaml"]);
  });

  test("a prepared link in the place of the new content is not followed", async () => {
    const victim = join(directory, "victim");
    writeFileSync(victim, "precious");
    symlinkSync(victim, join(directory, ".domains.yaml.next"));
    const result = await open(path).change(versionOf(path), ADD);
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
    const snapshot = open(path).read();
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
    [
      "a link to itself",
      () => {
        rmSync(path);
        symlinkSync("domains.yaml", path);
      },
      "Its symbolic links have no end (ELOOP).",
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
    const snapshot = open(path).read();
    expect(!snapshot.ok && snapshot.problems[0]?.message).toContain(message);
    expect(await open(path).change("", ADD)).toMatchObject({ ok: false });
  });
});

describe("a served file", () => {
  /** Replaces the file in one step, so that its identity changes even within the resolution of its time. */
  function replace(text: string): void {
    writeFileSync(`${path}.new`, text);
    renameSync(`${path}.new`, path);
  }
  function watch() {
    const reports: string[] = [];
    const hosts = watchDomainsFile(path, "pro", ["127.0.0.1"], (line) => reports.push(line));
    return { reports, serves: (host: string) => hosts().route(host, "/").action === "serve" };
  }

  test.each<[string, string, () => void]>([
    ["deleted", "missing", () => rmSync(path)],
    ["replaced by an invalid mapping", "invalid", () => replace("domains: { primary: 5 }")],
    ["changed in place to text that is not YAML", "invalid", () => writeFileSync(path, "domains: [")],
    [
      "replaced by a link to itself",
      "invalid",
      () => {
        rmSync(path);
        symlinkSync(path, path);
      },
    ],
  ])("that was %s leaves the previous mapping in effect, which is reported once", (_name, state, spoil) => {
    const { reports, serves } = watch();
    spoil();
    for (let request = 0; request < 5; request++)
      expect([serves("a.example.com"), serves("b.example.com")]).toEqual([true, false]);
    expect(reports).toEqual([
      expect.stringContaining(`${path} has changed and is ${state}; keeping the previous configuration: `),
    ]);
    replace("domains: { primary: b.example.com }");
    expect([serves("a.example.com"), serves("b.example.com")]).toEqual([false, true]);
    expect(reports.slice(1)).toEqual([`${path} has changed and is now in effect.`]);
  });

  test("whose hosts end with an unknown top-level domain is served, and that is reported each time", () => {
    replace("domains: { primary: orders.exmaple.cmo }");
    const { reports, serves } = watch();
    const warning = expect.stringContaining("ends with .cmo, which is no known top-level domain");
    expect(reports).toEqual([warning]);
    replace("domains: { primary: orders.exmaple.cmo, aliases: [127.0.0.1.example.com] }");
    expect(serves("127.0.0.1.example.com")).toBe(true);
    expect(reports).toEqual([warning, expect.stringContaining("is now in effect"), warning]);
  });

  test("that is overwritten in place by one of equal size and time takes effect", () => {
    const other = join(directory, "other.yaml");
    writeFileSync(other, readFileSync(path, "utf8").replace("a.example", "b.example"));
    for (const each of [path, other]) utimesSync(each, 1_700_000_000, 1_700_000_000);
    const { serves } = watch();
    // The clock of the file system moves on.
    while (statSync(other).ctimeMs === statSync(path).ctimeMs) chmodSync(other, 0o600);
    execFileSync("cp", ["--preserve", other, path]);
    expect([serves("a.example.com"), serves("b.example.com")]).toEqual([false, true]);
  });
});
