/** What examples, frameworks, runtimes and compilers need besides the package. npm takes a minute for it, so it is installed once. */
import { execFileSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { homeOfPackages } from "../support/install-packages.ts";
import { PATH, QUIET, ROOT } from "./installed.ts";

type Versions = Readonly<Record<string, string>>;
interface Installed {
  readonly dependencies?: Versions;
  readonly optionalDependencies?: Versions;
  readonly peerDependencies?: Versions;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

export const LINKED_FROM: string = homeOfPackages("linked");
// npm writes this file last.
const LOCK = join(LINKED_FROM, "node_modules/.package-lock.json");

export function packagesOf(path: string): Versions {
  const { dependencies, devDependencies } = readManifest(path);
  return { ...dependencies, ...devDependencies };
}

const readManifest = (path: string): Readonly<Record<string, Versions>> =>
  JSON.parse(readFileSync(join(ROOT, path), "utf8"));

/** Installs the packages, unless they are there. The SDKs of Pulumi are among those of the repository. */
export function installLinked(): void {
  const manifests = globSync(["test/examples/*/package.json", "test/system/*/package.json"], { cwd: ROOT });
  const all = Object.entries(Object.assign({}, ...manifests.map(packagesOf)));
  const dependencies = Object.fromEntries(all.filter(([name]) => !name.startsWith("@pulumi/")).sort());
  const optionalDependencies = Object.assign(
    {},
    ...manifests.map((path) => readManifest(path)["optionalDependencies"]),
  );
  const manifest = join(LINKED_FROM, "package.json");
  const text = JSON.stringify({ private: true, dependencies, optionalDependencies }, null, 2);
  if (existsSync(LOCK) && readFileSync(manifest, "utf8") === text) return;
  process.stderr.write(`Installing packages into ${LINKED_FROM} …\n`);
  rmSync(LINKED_FROM, { recursive: true, force: true });
  mkdirSync(LINKED_FROM, { recursive: true });
  writeFileSync(manifest, text);
  const options = { cwd: LINKED_FROM, env: { ...process.env, PATH } };
  execFileSync("npm", ["install", ...QUIET], { ...options, stdio: ["ignore", "ignore", "inherit"] });
}

export function programOf(runtime: string): string {
  const [name = ""] = runtime.split("-");
  const places = [`${runtime}/bin/${name}`, `@{oven,deno}/*/{bin/,}${name}`];
  const [path] = globSync(places, { cwd: join(LINKED_FROM, "node_modules") });
  if (path === undefined) throw new Error(`${runtime} is not installed for this platform.`);
  return join(LINKED_FROM, "node_modules", path);
}

/** Creates a folder beside that of the package, with a copy of it, and links to what npm would install with `packages`. */
export function newFolderWith(installed: string, packages: Versions): string {
  const folder = mkdtempSync(join(dirname(installed), "linked-"));
  cpSync(join(installed, "package.json"), join(folder, "package.json"));
  const link = (from: string, path: string) => {
    const to = join(folder, path);
    mkdirSync(dirname(to), { recursive: true });
    if (!existsSync(to)) symlinkSync(join(from, path), to);
  };
  // It has to find its peers among the links.
  const own = "node_modules/store-orders";
  cpSync(join(installed, own), join(folder, own), { recursive: true });
  for (const path of globSync(["node_modules/[^.@]*", "node_modules/@*/*"], { cwd: installed }))
    if (path !== own) link(installed, path);
  for (const path of pathsOf(packages)) link(LINKED_FROM, path);
  for (const [name, version] of Object.entries(packages)) {
    const found = JSON.parse(
      readFileSync(join(folder, "node_modules", name, "package.json"), "utf8"),
    ).version;
    if (found !== version.replace(/^npm:.+@/, ""))
      throw new Error(`${name} ${version} is needed, but ${found} is installed.`);
  }
  return folder;
}

/** Where npm has installed packages and all that they depend on, below the folder of all packages. */
function pathsOf(packages: Versions): ReadonlySet<string> {
  const all: Readonly<Record<string, Installed>> = JSON.parse(readFileSync(LOCK, "utf8")).packages;
  const found = new Set<string>();
  function add(from: string, name: string): void {
    const path = join(from, "node_modules", name);
    const entry = all[path];
    if (entry === undefined) {
      // Optional packages of other platforms are nowhere.
      if (from !== "") add(from.slice(0, Math.max(0, from.lastIndexOf("/node_modules/"))), name);
      return;
    }
    if (found.has(path)) return;
    found.add(path);
    const { peerDependencies = {}, peerDependenciesMeta = {} } = entry;
    const peers = Object.keys(peerDependencies).filter(
      (peer) => peerDependenciesMeta[peer]?.optional !== true,
    );
    for (const each of Object.keys({ ...entry.dependencies, ...entry.optionalDependencies })) add(path, each);
    for (const peer of peers) add(path, peer);
  }
  const { peerDependencies = {}, devDependencies = {} } = readManifest("package.json");
  for (const [name, version] of Object.entries(packages)) {
    // That version goes with the package: npm installs both for a line of the documents.
    if (name in peerDependencies && version !== devDependencies[name])
      throw new Error(`${name} ${version} is needed, but ${devDependencies[name]} is tested.`);
    add("", name);
  }
  return new Set([...found].filter((path) => path.lastIndexOf("node_modules/") === 0));
}
