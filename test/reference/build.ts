/**
 * Writes the site into `dist/reference`: the API reference of the public entries, from their docstrings, and every
 * document of the project: `npm run docs`. Ends with an error where an export is not documented or a link is broken.
 */
import { spawnSync } from "node:child_process";
import { globSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { DOCUMENTS, localLinks, ROOT } from "../documents/markdown.ts";
import { ENTRIES } from "../support/entries.ts";
import { homeOfPackages, installPackages } from "../support/install-packages.ts";

const SOURCE = fileURLToPath(new URL(".", import.meta.url));
/** The generator works with an older compiler, which neither the project nor its tools are to meet. */
const HOME = homeOfPackages("reference");
const PAGES = join(HOME, "pages");
const EXAMPLES = "test/examples";

installPackages(SOURCE, HOME);

const documents = DOCUMENTS.map(({ path }) => path).filter((path) => path !== "README.md");
const options = [
  ...["--options", join(SOURCE, "typedoc.json"), "--plugin", join(SOURCE, "plugin.ts")],
  ...ENTRIES.flatMap(({ name, source }) => ["--entryPoints", join(ROOT, source), "--navigationLeaves", name]),
  ...[...documents.map((path) => join(ROOT, path)), ...writePages()].flatMap((path) => [
    "--projectDocuments",
    path,
  ]),
];
const generator = join(HOME, "node_modules/typedoc/bin/typedoc");
const { status } = spawnSync(process.execPath, [generator, ...options], { cwd: SOURCE, stdio: "inherit" });
process.exitCode = status ?? 1;

/** Writes a page for each folder that a document links, because a site has no folders, and returns their paths. */
function writePages(): readonly string[] {
  rmSync(PAGES, { recursive: true, force: true });
  mkdirSync(PAGES, { recursive: true });
  const linked = DOCUMENTS.flatMap(localLinks).map(({ target }) => target);
  const folders = new Set([
    ...linked.filter((path) => statSync(join(ROOT, path)).isDirectory()),
    ...globSync(`${EXAMPLES}/*`, { cwd: ROOT }),
  ]);
  return [...folders].toSorted().map((folder) => {
    const page = pageOf(folder);
    const title = folder === EXAMPLES ? "Examples" : basename(folder);
    const group = dirname(folder) === EXAMPLES ? "Examples" : "Documents";
    writeFileSync(
      page,
      `---\ngroup: ${group}\nfolder: ${join(ROOT, folder)}\n---\n# ${title}\n\n${contentOf(folder)}`,
    );
    return page;
  });
}

function pageOf(folder: string): string {
  return join(PAGES, `${folder.replaceAll(/\W+/g, "-")}.md`);
}

/** The files of a folder as code, or the pages of all examples. */
function contentOf(folder: string): string {
  if (folder === EXAMPLES)
    return globSync(`${EXAMPLES}/*`, { cwd: ROOT })
      .toSorted()
      .map((path) => `- [${basename(path)}](./${basename(pageOf(path))})\n`)
      .join("");
  const files = globSync("**/*.{json,ts,tsx,yaml,yml}", { cwd: join(ROOT, folder) }).toSorted();
  return files
    .map(
      (file) =>
        `## ${file}\n\n\`\`\`${extname(file).slice(1)}\n${readFileSync(join(ROOT, folder, file), "utf8")}\`\`\`\n`,
    )
    .join("\n");
}
