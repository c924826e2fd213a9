import { globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { describe, expect, test } from "vitest";
import { ALLOWED_IMPORTS, ALLOWED_PACKAGES } from "./support/import-rules.ts";

interface Import {
  readonly file: string;
  readonly from: string;
  readonly typeOnly: boolean;
}

const sources = globSync(["lib/**/*.{ts,mjs}", "infra/**/*.ts"]);
const text = (file: string) => readFileSync(file, "utf8");
const code = (file: string) => text(file).replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, "");
const imports: readonly Import[] = sources.flatMap((file) =>
  [
    ...text(file).matchAll(
      /(?:^(import|export)\s+(type\s)?[^;]*?\sfrom\s+|^import\s+|\bimport\()"([^"]+)"/gms,
    ),
  ].map(([, , typeOnly, from = ""]) => ({ file, from, typeOnly: typeOnly !== undefined })),
);
const local = imports
  .filter(({ from }) => from.startsWith("."))
  .map((entry) => ({ ...entry, target: normalize(join(dirname(entry.file), entry.from)) }));

const isInside = (file: string, directory: string) => file === directory || file.startsWith(`${directory}/`);
const directoryOf = (file: string) =>
  Object.keys(ALLOWED_IMPORTS).find((directory) => isInside(file, directory));

test("the import parser finds every import", () => {
  expect(local.length).toBeGreaterThan(100);
  expect(imports.filter(({ from }) => from.startsWith("node:")).length).toBeGreaterThan(5);
});

describe("imports within the project", () => {
  test("every file belongs to a directory with rules", () => {
    expect(sources.filter((file) => directoryOf(file) === undefined)).toEqual([]);
  });

  test("a directory imports only the directories that it may", () => {
    const wrong = local.filter(({ file, target }) => {
      const directory = directoryOf(file) ?? "";
      const allowed = ALLOWED_IMPORTS[directory] ?? [];
      return !isInside(target, directory) && !allowed.some((other) => isInside(target, other));
    });
    expect(wrong.map(({ file, target }) => `${file} -> ${target}`)).toEqual([]);
  });

  test("only its command imports the console, so that no server, function or library contains it", () => {
    const importers = local.filter(
      ({ file, target }) => isInside(target, "lib/console") && !isInside(file, "lib/console"),
    );
    expect([...new Set(importers.map(({ file }) => file))]).toEqual(["lib/cli/commands/console.ts"]);
  });

  test("no file imports itself in a circle, by type either", () => {
    const importsOf = new Map(sources.map((file) => [file, local.filter((entry) => entry.file === file)]));
    const inCircle = sources.filter((start) => {
      const seen = new Set<string>();
      const queue = [start];
      for (let file = queue.pop(); file !== undefined; file = queue.pop())
        for (const { target } of importsOf.get(file) ?? []) {
          if (target === start) return true;
          if (!seen.has(target)) queue.push(target);
          seen.add(target);
        }
      return false;
    });
    expect(inCircle).toEqual([]);
  });

  test("stores import the store interfaces by type only", () => {
    const wrong = local.filter(
      ({ file, target, typeOnly }) => isInside(file, "lib/stores") && /-store\.ts$/.test(target) && !typeOnly,
    );
    expect(wrong).toEqual([]);
  });
});

describe("packages", () => {
  test("a directory imports only the packages and Node modules that it may", () => {
    const wrong = imports.filter(({ file, from }) => {
      const directory = Object.keys(ALLOWED_PACKAGES).find((allowed) => isInside(file, allowed));
      const allowed = ALLOWED_PACKAGES[directory ?? ""] ?? [];
      return !from.startsWith(".") && !allowed.some((name) => name.test(from));
    });
    expect(wrong.map(({ file, from }) => `${file} -> ${from}`)).toEqual([]);
  });
});

describe("entry points", () => {
  const { exports } = JSON.parse(text("package.json")) as { exports: Record<string, { default: string }> };
  const entries = Object.values(exports).flatMap(({ default: built }) =>
    built === undefined ? [] : [built.replace("./dist/", "").replace(/\.js$/, ".ts")],
  );

  /** The exported names of a module, each with the file that declares it. */
  function exportsOf(file: string): ReadonlyMap<string, string> {
    const names = new Map<string, string>();
    const source = code(file);
    const follow = (from: string) => normalize(join(dirname(file), from));
    for (const [, from = ""] of source.matchAll(/^export \* from "([^"]+)"/gm)) {
      for (const [name, declaredIn] of exportsOf(follow(from))) names.set(name, declaredIn);
    }
    for (const [, list = "", from = ""] of source.matchAll(
      /^export (?:type )?\{([^}]*)\} from "([^"]+)"/gm,
    )) {
      for (const name of list.split(",").map((item) => item.replace("type ", "").trim())) {
        if (name !== "") names.set(name, exportsOf(follow(from)).get(name) ?? follow(from));
      }
    }
    const declaration =
      /^export (?:declare )?(?:abstract )?(?:async )?(?:const|class|function\*?|interface|type) (\w+)/gm;
    for (const [, name = ""] of source.matchAll(declaration)) names.set(name, file);
    return names;
  }

  test("two different things never share a name", () => {
    const declared = new Map<string, Set<string>>();
    for (const entry of entries) {
      for (const [name, file] of exportsOf(entry)) {
        declared.set(name, (declared.get(name) ?? new Set()).add(file));
      }
    }
    expect(declared.size).toBeGreaterThan(150);
    expect([...declared].filter(([, files]) => files.size > 1)).toEqual([]);
  });

  test("every export has a docstring", () => {
    const exported = entries.flatMap((entry) => [...exportsOf(entry)]);
    const missing = exported.filter(
      ([name, file]) => !new RegExp(String.raw`\*/\nexport [\w* ]+ ${name}\b`).test(text(file)),
    );
    expect(missing).toEqual([]);
  });
});

describe("conventions", () => {
  const entries = /^(lib\/cli\/bin\.ts|infra\/functions\/(entry|events)\.ts|infra\/config\/settings\.ts)$/;

  test("process.env is read in entry files only", () => {
    expect(sources.filter((file) => code(file).includes("process.env") && !entries.test(file))).toEqual([]);
  });

  test("the system clock is read only through Clock, so that tests can set the time", () => {
    const readers = sources.filter((file) => /Date\.now\(|new Date\(\)/.test(code(file)));
    expect(
      readers.filter((file) => !/^lib\/(core\/time\.ts|cli\/|node\/|lambda\/)|^infra\//.test(file)),
    ).toEqual([]);
  });

  test("servers load node:http in one place, since an import of it loads what no server needs", () => {
    const importers = imports.filter(({ from, typeOnly }) => from === "node:http" && !typeOnly);
    expect(importers.map(({ file }) => file)).toEqual([]);
    const loaders = sources.filter((file) => code(file).includes('getBuiltinModule("node:http")'));
    expect(loaders).toEqual(["lib/node/listen.ts"]);
  });

  test("no query of SQLite has numbered parameters, which Node 22.16 rejects", () => {
    const users = sources.filter((file) => file.startsWith("lib/stores/sqlite/") && /\?\d/.test(code(file)));
    expect(users).toEqual([]);
  });

  test("Math.random is used only for delays, leases and order identifiers, which need not be secret", () => {
    const users = sources.filter((file) => code(file).includes("Math.random"));
    expect(users.toSorted()).toEqual([
      "lib/client/client.ts",
      "lib/core/time.ts",
      "lib/orders/delivery.ts",
      "lib/orders/orders.ts",
      "lib/stores/postgres/connection.ts",
      "lib/stores/postgres/strong-locks.ts",
      "lib/stores/sqlite/database.ts",
    ]);
  });

  test("errors of the library are recognised by code, since another copy of the package has other classes", () => {
    const pattern = /instanceof (StoreUnavailable|InvalidInput|NewerSchema)Error/;
    expect(sources.filter((file) => pattern.test(code(file)))).toEqual([]);
  });

  const withTests = [...sources, ...globSync("test/**/*.ts", { exclude: ["**/node_modules/**"] })];

  test("no source refers to a document outside the repository", () => {
    const pattern = /\((decisions? \d|design, |specification[,)])/;
    expect(withTests.filter((file) => pattern.test(text(file)))).toEqual([]);
  });

  test("no source file is a collection of unrelated code", () => {
    const pattern = /(^|\/)(utils?|helpers?|types?|common|misc)(\.|\/)/;
    expect(sources.filter((file) => pattern.test(file))).toEqual([]);
  });
});
