import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { anchors, code, DOCUMENTS, type Link, localLinks, ROOT } from "./markdown.ts";

const anchorsByPath = new Map(DOCUMENTS.map((each) => [each.path, anchors(each)]));

/** What is wrong with a link, or nothing. */
function problemOf({ target, anchor }: Link): string | undefined {
  if (!existsSync(join(ROOT, target))) return `${target} does not exist`;
  if (anchor === undefined || anchorsByPath.get(target)?.has(anchor) === true) return undefined;
  return `${target} has no heading for #${anchor}`;
}

describe("documents", () => {
  for (const from of DOCUMENTS) {
    test(`every link in ${from.path} leads to a file and a heading that exist`, () => {
      expect(localLinks(from).flatMap((link) => problemOf(link) ?? [])).toEqual([]);
    });
  }

  test("every file and directory of the project that a document names exists", () => {
    const missing = DOCUMENTS.flatMap((from) =>
      [...code(from).matchAll(/(?<![\w/.-])(?:lib|infra|test)\/[\w./-]*\w/g)]
        .map(([path]) => path)
        .filter((path) => !existsSync(join(ROOT, path)))
        .map((path) => `${from.path}: ${path}`),
    );
    expect(missing).toEqual([]);
  });

  test("every document can be reached from the README", () => {
    const reached = new Set(["README.md"]);
    for (const path of reached) {
      const from = DOCUMENTS.find((each) => each.path === path);
      for (const { target } of from === undefined ? [] : localLinks(from)) reached.add(target);
    }
    expect(DOCUMENTS.map(({ path }) => path).filter((path) => !reached.has(path))).toEqual([]);
  });
});

describe("sources", () => {
  const sources = globSync(["{lib,infra,test}/**/*.{ts,mjs}", "Pulumi*.yaml"], {
    cwd: ROOT,
    exclude: ["**/node_modules/**"],
  });
  const references = sources.flatMap((file) =>
    [
      ...readFileSync(join(ROOT, file), "utf8").matchAll(
        /\b((?:(?:lib|infra|test)\/[\w/-]+|[A-Z]{2,})\.md)(?:#([\w-]+))?/g,
      ),
    ].map(([, target = "", anchor]) => ({
      file,
      link: { target, ...(anchor === undefined ? {} : { anchor }) },
    })),
  );

  test("every reference from a source to a document leads to a heading that exists", () => {
    const wrong = references.filter(({ file }) => !file.startsWith("test/documents/"));
    expect(
      wrong.flatMap(({ file, link }) =>
        problemOf(link) === undefined ? [] : [`${file}: ${problemOf(link)}`],
      ),
    ).toEqual([]);
  });
});
