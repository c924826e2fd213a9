import { globSync, readFileSync } from "node:fs";

/** Packages whose archives have no licence file. Their licence is in the manifest. */
const WITHOUT_FILE = "The package has no licence file; this is the licence that its manifest names: ";

/** The name, version and licence of every package among the source files of a bundle. */
export function licenceNotices(files: readonly string[]): string {
  const packages = new Set(files.flatMap((file) => PACKAGE.exec(file)?.[0] ?? []));
  return [...packages]
    .sort()
    .map(noticeOf)
    .join(`\n${"-".repeat(80)}\n\n`);
}

/** The innermost package, because packages are nested. */
const PACKAGE = /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/;

function noticeOf(folder: string): string {
  const { name, version, license } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
  const texts = globSync(`${folder}/{LICEN[CS]E,licen[cs]e,Licen[cs]e,COPYING,NOTICE}*`)
    .toSorted()
    .map((file) => readFileSync(file, "utf8").trim());
  return `${name} ${version}\n\n${texts.length === 0 ? WITHOUT_FILE + license : texts.join("\n\n")}\n`;
}
