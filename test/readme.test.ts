import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { afterAll, describe, expect, test } from "vitest";
import { ERRORS } from "../lib/errors.ts";
import { OPERATIONS } from "../lib/http/operations.ts";
import { LIFECYCLE, ORDER_STATUSES, type OrderEvent } from "../lib/orders/lifecycle.ts";
import { PLAN_LIMITS } from "../lib/plans/plan-limits.ts";

const root = new URL("..", import.meta.url).pathname;
const readme = readFileSync(join(root, "README.md"), "utf8");
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const folder = mkdtempSync(join(tmpdir(), "store-orders-readme-"));
afterAll(() => rmSync(folder, { recursive: true }));

const run = promisify(execFile);
const blocks = (language: string) =>
  [...readme.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, "gms"))].map(([, code = ""]) => code);
/** The cells of every table row, without code marks. */
const rows = [...readme.matchAll(/^\|(.+)\|$/gm)].map(([, row = ""]) =>
  row.split("|").map((cell) => cell.replaceAll("`", "").trim()),
);

describe("programs", () => {
  for (const [index, code] of blocks("ts").entries()) {
    const title = /from "(store-orders[^"]*)";\n\n/.exec(code)?.[1] ?? "";
    test(`example ${index + 1}, with ${title}, runs and prints what its comments say`, async () => {
      const file = join(folder, `example-${index}.ts`);
      writeFileSync(
        file,
        code.replace(/from "store-orders(\/\w+)?"/g, (_, entry) => `from "${sourceOf(entry)}"`),
      );
      const { stdout } = await run(process.execPath, [file]);
      const promised = [...code.matchAll(/console\.log\(.*\); \/\/ (.+)$|status\) \}\); \/\/ (.+)$/gm)];
      expect(stdout.trim().split("\n").filter(Boolean)).toEqual(
        promised.map(([, printed, told]) => printed ?? told),
      );
    });
  }
});

/** The source behind an entry of the package. */
function sourceOf(entry = ""): string {
  const built = manifest.exports[`.${entry}`].default as string;
  return join(root, built.replace("./dist/", "").replace(/\.js$/, ".ts"));
}

describe("commands", () => {
  const database = join(folder, "store.db");
  const cli = ["lib/cli/bin.ts"];
  const environment = { ...process.env, STORE_ORDERS_DATABASE: database, PORT: "0" };

  test("the curl lines answer what stands beside them, on what npm start prints", async () => {
    const [curls = ""] = blocks("sh");
    const server = spawn(process.execPath, [...cli, "serve", "--demo"], { cwd: root, env: environment });
    const exited = once(server, "exit");
    try {
      const printed: Record<string, string> = {};
      for await (const line of createInterface(server.stdout)) {
        const [name = "", value = ""] = line.replace("Store Orders", "url").split(/\s{2,}/);
        printed[name] = value;
        if (name === "try") break;
      }
      for (const line of curls.trim().split("\n")) {
        const [command = "", promised = ""] = line.split(" # ");
        const script = command.trim();
        const { stdout } = await run("bash", ["-c", script], {
          env: { ...process.env, API: printed["url"], KEY: printed["key"] },
        });
        expect(stdout.split(" ")[1], line).toBe(promised.slice(0, 3));
      }
    } finally {
      server.kill();
      await exited;
    }
  });

  test("the lines for the shell work one after another, and what they promise holds", async () => {
    const [, shell = "", domains = ""] = blocks("sh");
    const [yaml = ""] = blocks("yaml");
    writeFileSync(join(folder, "domains.yaml"), yaml);
    writeFileSync(
      join(folder, "store-orders"),
      `#!/bin/sh\nexec ${process.execPath} ${root}lib/cli/bin.ts "$@"\n`,
      {
        mode: 0o755,
      },
    );
    const script = `set -e\n${shell}\n${domains}`;
    const { stdout } = await run("bash", ["-c", script], {
      cwd: folder,
      env: { ...environment, PATH: `${folder}:${process.env["PATH"]}` },
    });
    expect(stdout).toContain("so_test_acme_");
    expect(stdout).toContain("CNAME");
    expect(readFileSync(join(folder, "orders.ndjson"), "utf8")).toContain('"id":7');
    expect(JSON.parse(readFileSync(join(folder, "openapi.json"), "utf8")).openapi).toBe("3.1.0");
  });
});

describe("tables", () => {
  test("every error code stands there once, with its status", () => {
    const told = rows.flatMap(([codes = "", statuses = ""]) => {
      const known = codes.split(", ").filter((code) => code in ERRORS);
      const numbers = statuses.split(", ").map(Number);
      return known.length === 0 || Number.isNaN(numbers[0])
        ? []
        : known.map((code, index) => [code, numbers[index] ?? numbers[0]]);
    });
    expect(told.toSorted()).toEqual(
      Object.entries(ERRORS)
        .map(([code, { status }]) => [code, status])
        .toSorted(),
    );
  });

  test("the plans and their limits are those of the table in the code", () => {
    for (const [plan, limits] of Object.entries(PLAN_LIMITS)) {
      const expected =
        limits === "custom" ? ["agreed", "agreed"] : [`${limits.perMinute}`, `${limits.perDay}`];
      expect(rows.find(([name]) => name === plan)?.slice(1)).toEqual(expected);
    }
  });

  test("the lifecycle is that of the table in the code", () => {
    for (const status of ORDER_STATUSES) {
      const cells = Object.keys(LIFECYCLE[status]).map((event) => {
        const rule: { to: string } | { refused: string } = LIFECYCLE[status][event as OrderEvent];
        return "to" in rule ? rule.to : rule.refused;
      });
      expect(rows.find(([name, , ship]) => name === status && ship !== undefined)?.slice(1)).toEqual(cells);
    }
  });

  test("every operation stands there", () => {
    for (const { id, method, path } of OPERATIONS) {
      expect(rows.find(([name]) => name === id)?.[1]).toBe(`${method} /v1${path}`);
    }
  });
});

describe("links", () => {
  test("every file that the page leads to is there", () => {
    for (const [, target = ""] of readme.matchAll(/\]\((?!https?:|#)([^)]+)\)/g)) {
      expect(() => readFileSync(join(root, target)), target).not.toThrow();
    }
  });
});
