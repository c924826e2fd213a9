import { globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { describe, expect, test } from "vitest";
import { document, ROOT, table } from "./markdown.ts";

const manifest = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));

describe("entry points", () => {
  const { rows } = table("README.md", "entry point", "contains", "install as well");
  const peers = Object.keys(manifest.peerDependencies);

  test("every entry point of the package is listed", () => {
    const entries = Object.keys(manifest.exports).filter((entry) => entry !== "./package.json");
    expect(rows.map(([entry = ""]) => entry.replace("store-orders", ".")).toSorted()).toEqual(
      entries.toSorted(),
    );
  });

  for (const [entry = "", , install = ""] of rows) {
    test(`the packages to install for ${entry} are those that its modules import`, () => {
      const [required = ""] = install.split(";");
      const named = required
        .replace(/^nothing$|npm install/, "")
        .trim()
        .split(/\s+/)
        .filter(Boolean);
      const built: string = manifest.exports[entry.replace("store-orders", ".")].default;
      const source = built.replace("./dist/", "").replace(/\.js$/, ".ts");
      expect(named.toSorted()).toEqual(
        packagesOf(source)
          .filter((name) => peers.includes(name))
          .toSorted(),
      );
    });
  }

  test("every optional peer of the package is listed", () => {
    const installs = rows.map(([, , install = ""]) => install).join(" ");
    expect(peers.filter((peer) => !installs.includes(peer))).toEqual([]);
  });
});

/** The packages that a module and everything behind it import, types aside. */
function packagesOf(source: string): readonly string[] {
  const files = new Set([source]);
  const packages = new Set<string>();
  for (const file of files) {
    const text = readFileSync(join(ROOT, file), "utf8");
    for (const [, from = ""] of text.matchAll(
      /(?:^(?:import|export)\s+(?!type\b)[^;]*?\sfrom\s+|^import\s+|\bimport\()"([^"]+)"/gms,
    )) {
      if (from.startsWith(".")) files.add(normalize(join(dirname(file), from)));
      else if (!from.startsWith("node:"))
        packages.add(
          from
            .split("/")
            .slice(0, from.startsWith("@") ? 2 : 1)
            .join("/"),
        );
    }
  }
  return [...packages];
}

test("every directory of lib is in the layout of the contribution guide", () => {
  const { text } = document(".github/CONTRIBUTING.md");
  const folders = globSync("lib/*/", { cwd: ROOT }).map((folder) => folder.replace(/^lib\/|\/$/g, ""));
  expect(folders.filter((folder) => !text.includes(`\n  ${folder}/ `))).toEqual([]);
});
