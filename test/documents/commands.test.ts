import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { PassThrough } from "node:stream";
import { text as textOf } from "node:stream/consumers";
import { promisify } from "node:util";
import { afterAll, describe, expect, test } from "vitest";
import { runProgram } from "../../lib/cli/program.ts";
import { code, codeBlocks, DOCUMENTS, document, listedCommands, ROOT, table } from "./markdown.ts";

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), "store-orders-documents-"));
afterAll(() => rmSync(folder, { recursive: true }));

writeFileSync(
  join(folder, "store-orders"),
  `#!/bin/sh\nexec ${process.execPath} ${ROOT}lib/cli/bin.ts "$@"\n`,
  { mode: 0o755 },
);
const env = {
  ...process.env,
  PATH: `${folder}:${process.env["PATH"]}`,
  NODE_COMPILE_CACHE: join(ROOT, "node_modules/.cache/store-orders"),
  PORT: "0",
};

/** Blocks that call a running server; all others run on a database of their own. */
const callsServer = (code: string) => code.includes("$API");

const RESULTS = {
  "keys issue": /\bso_(test|live)_[a-z]+_\w{38}\b/,
  "orders place": /\bpending\b/,
  "domains records": /\bCNAME\b/,
  "domains check": /not verified yet/,
};

describe.concurrent("shell blocks", () => {
  for (const from of DOCUMENTS) {
    const home = join(folder, from.path.replaceAll(/\W/g, "-"));
    const blocks = codeBlocks(from, "sh").filter((code) => !callsServer(code));
    if (blocks.length === 0) continue;
    test(`the commands in ${from.path} succeed one after another`, async () => {
      mkdirSync(home);
      const [yaml = ""] = codeBlocks(from, "yaml").filter((code) => /^domains:/m.test(code));
      writeFileSync(join(home, "domains.yaml"), yaml);
      const script = `set -e\n${blocks.join("\n")}`;
      const { stdout } = await run("bash", ["-c", script], { cwd: home, env });
      for (const [command, result] of Object.entries(RESULTS)) {
        if (script.includes(command)) expect(stdout, command).toMatch(result);
      }
      for (const file of globSync("*.{json,ndjson}", { cwd: home })) {
        expect(readFileSync(join(home, file), "utf8"), file).toMatch(/^\{\s*"\w+":/);
      }
    });
  }

  test("each curl line gets the status in its comment from the server of npm start", async () => {
    const [calls = ""] = codeBlocks(document("README.md"), "sh").filter(callsServer);
    const args = ["lib/cli/start.mjs", "serve", "--demo", "--database", join(folder, "demo.db")];
    const server = spawn(process.execPath, args, { cwd: ROOT, env });
    const exited = once(server, "exit");
    try {
      const printed: Record<string, string> = {};
      for await (const line of createInterface(server.stdout)) {
        const [name = "", value = ""] = line.replace("Store Orders", "url").split(/\s{2,}/);
        printed[name] = value;
        if (name === "try") break;
      }
      for (const line of calls.trim().split("\n")) {
        const [command = "", promised = ""] = line.split(" # ");
        const { stdout } = await run("bash", ["-c", command.trim()], {
          env: { ...process.env, API: printed["url"], KEY: printed["key"] },
        });
        expect(stdout.split(" ")[1], line).toBe(promised.slice(0, 3));
      }
    } finally {
      server.kill();
      await exited;
    }
  });
});

/** What `store-orders … --help` prints. */
async function help(...words: readonly string[]): Promise<string> {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const waitForStop = () => new Promise<string>(() => {});
  await runProgram({ argv: [...words, "--help"], env: {}, stdin, stdout, stderr, waitForStop });
  stdout.end();
  return textOf(stdout);
}

async function commandsIn(...words: readonly string[]): Promise<readonly string[]> {
  const [, list = ""] = /^Commands:\n((?: {2,}.*\n)+)/m.exec(await help(...words)) ?? [];
  return [...list.matchAll(/^ {2}([a-z-]+)/gm)].map(([, name = ""]) => name);
}

describe("names", () => {
  const scripts = Object.keys(JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")).scripts);

  test("every command of store-orders that a document names exists", async () => {
    const groups = await commandsIn();
    const known = await Promise.all(
      groups.map(async (group) => [group, ...(await commandsIn(group)).map((name) => `${group} ${name}`)]),
    );
    const commands = new Set(known.flat());
    const wrong = DOCUMENTS.flatMap(({ path, text }) =>
      [...code({ path, text }).matchAll(/(?:\bstore-orders|\bcli --) ([a-z]+)(?: ([a-z][a-z-]*))?/g)]
        .map(([, group = "", name]) => {
          const hasCommands = [...commands].some((each) => each.startsWith(`${group} `));
          return name !== undefined && hasCommands ? `${group} ${name}` : group;
        })
        .filter((name) => !commands.has(name))
        .map((name) => `${path}: ${name}`),
    );
    expect(wrong).toEqual([]);
  });

  test("every command is listed, in the order of the help", async () => {
    const groups = await commandsIn();
    const commands = await Promise.all(
      groups.map(async (group) => {
        const names = await commandsIn(group);
        return names.length === 0 ? [group] : names.map((name) => `${group} ${name}`);
      }),
    );
    const names = commands.flat().filter((command) => !/\bhelp\b/.test(command));
    expect(listedCommands()).toEqual(names);
  });

  test("every code that only a command reports is documented", () => {
    const reported = globSync("lib/cli/**/*.ts", { cwd: ROOT }).flatMap((file) =>
      [...readFileSync(join(ROOT, file), "utf8").matchAll(/JSON\.stringify\(\{ code: "(\w+)"/g)].map(
        ([, code]) => code,
      ),
    );
    expect(reported).toContain("rejected");
    const documented = table("lib/node/README.md", "code", "when").rows.map(([code]) => code);
    expect(reported.filter((code) => !documented.includes(code ?? ""))).toEqual([]);
  });

  test("every npm script that a document names exists", () => {
    const wrong = DOCUMENTS.flatMap(({ path, text }) =>
      [...text.matchAll(/\bnpm run (?:--silent )?([a-z:]+)/g)]
        .filter(([, name = ""]) => !scripts.includes(name))
        .map(([, name]) => `${path}: ${name}`),
    );
    expect(wrong).toEqual([]);
  });

  test("every flag of serve is listed once", async () => {
    const [options = ""] = (await help("serve")).split("Examples:");
    const flags = [...options.matchAll(/^ {2}(--[a-z-]+)/gm)].map(([, flag]) => flag);
    const { rows } = table("lib/node/README.md", "for", "flags");
    const listed = rows.flatMap(([, cell = ""]) => cell.match(/--[a-z-]+/g) ?? []);
    expect([...listed, "--version"].toSorted()).toEqual(flags.toSorted());
  });
});
