import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ENTRIES } from "../support/entries.ts";
import { document, ROOT, table } from "./markdown.ts";

const manifest = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));

describe("entry points", () => {
  const { rows } = table("lib/http/README.md", "entry point", "contains", "install as well");
  const peers = Object.keys(manifest.peerDependencies);

  test("every entry point of the package is listed", () => {
    expect(rows.map(([entry]) => entry).toSorted()).toEqual(ENTRIES.map(({ name }) => name).toSorted());
  });

  for (const [entry = "", , install = ""] of rows) {
    test(`the packages to install for ${entry} are those that its modules import`, () => {
      const [required = ""] = install.split(";");
      const named = required
        .replace(/^nothing$|npm install/, "")
        .trim()
        .split(/\s+/)
        .filter(Boolean);
      expect(named.toSorted()).toEqual(ENTRIES.find(({ name }) => name === entry)?.peers.toSorted());
    });
  }

  test("every optional peer of the package is listed", () => {
    const installs = rows.map(([, , install = ""]) => install).join(" ");
    expect(peers.filter((peer) => !installs.includes(peer))).toEqual([]);
  });
});

test("every directory of lib is in the layout of the contribution guide", () => {
  const { text } = document(".github/CONTRIBUTING.md");
  const folders = globSync("lib/*/", { cwd: ROOT }).map((folder) => folder.replace(/^lib\/|\/$/g, ""));
  expect(folders.filter((folder) => !text.includes(`\n  ${folder}/ `))).toEqual([]);
});
