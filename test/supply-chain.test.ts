import { exec, execFile } from "node:child_process";
import { readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";

const root = new URL("..", import.meta.url).pathname;
const read = (file: string) => JSON.parse(readFileSync(join(root, file), "utf8"));
const manifest = read("package.json");

/** The one package that is not from a registry: it chooses the Node of the platform, and holds no code. */
const PROJECT_NODE = ".config/project-node";
const projectNode = read(`${PROJECT_NODE}/package.json`);

interface Locked {
  readonly version: string;
  readonly integrity?: string;
  readonly license?: string;
  readonly resolved?: string;
  readonly link?: boolean;
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly hasInstallScript?: boolean;
}

function packagesOf(lock: string): readonly (Locked & { readonly name: string })[] {
  // An entry has a name only if it is installed under another one.
  const { packages } = read(lock) as { packages: Readonly<Record<string, Locked & { name?: string }>> };
  return Object.entries(packages)
    .filter(([path, { resolved }]) => path !== "" && path !== PROJECT_NODE && resolved !== PROJECT_NODE)
    .map(([path, locked]) => ({
      ...locked,
      name: locked.name ?? path.slice(path.lastIndexOf("node_modules/") + 13),
    }));
}

const MAX_OUTPUT = 64 * 1024 * 1024;
async function npm(...args: readonly string[]): Promise<string> {
  const options = { cwd: root };
  return (await promisify(execFile)("npm", args, options)).stdout;
}

/** Licences that are compatible with the MIT licence, whether the package is shipped or not. */
const PERMISSIVE = [
  ...["MIT", "ISC", "0BSD", "BSD-2-Clause", "BSD-3-Clause", "Apache-2.0", "BlueOak-1.0.0"],
  ...["CC0-1.0", "Python-2.0", "Zlib", "CC-BY-3.0", "CC-BY-4.0", "Unlicense"],
];
/** Copyleft per file, which is compatible for an unmodified tool that is not shipped. */
const FOR_TOOLS = [...PERMISSIVE, "MPL-2.0"];

/** The packages of commands that install their own. */
const OWN_PACKAGES = ["test/bench/peers", "test/system"];

describe.each(["", ...OWN_PACKAGES].map((folder) => join(folder, "package-lock.json")))("%s", (lock) => {
  const packages = packagesOf(lock);

  test("every package is pinned to its content by a SHA-512 hash and comes from the registry", () => {
    expect(packages.length).toBeGreaterThan(20);
    const unpinned = packages.filter(
      ({ integrity, link, resolved }) =>
        !/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity ?? "") || link === true || resolved !== undefined,
    );
    expect(unpinned.map(({ name }) => name)).toEqual([]);
  });

  test("every package has a compatible licence", () => {
    const isCompatible = ({ name, license, dev }: (typeof packages)[number]) => {
      const terms = license?.match(/[\w.-]+/g)?.filter((term) => term !== "AND" && term !== "OR");
      if (license === "SEE LICENSE IN LICENSE") {
        return /^The MIT License/.test(readFileSync(join(root, "node_modules", name, "LICENSE"), "utf8"));
      }
      return (
        terms?.every((term) =>
          (dev === true || lock !== "package-lock.json" ? FOR_TOOLS : PERMISSIVE).includes(term),
        ) ?? false
      );
    };
    const incompatible = packages.filter((entry) => !isCompatible(entry));
    expect(incompatible.map(({ name, license }) => `${name}: ${license}`)).toEqual([]);
  });
});

test("every direct dependency has an exact version", () => {
  const { "project-node": local, ...devDependencies } = manifest.devDependencies;
  expect(local).toBe(`file:${PROJECT_NODE}`);
  const versions = Object.entries({
    ...manifest.dependencies,
    ...devDependencies,
    ...projectNode.optionalDependencies,
    ...Object.assign({}, ...OWN_PACKAGES.map((folder) => read(`${folder}/package.json`).dependencies)),
  });
  expect(versions.filter(([, version]) => !/^\d+\.\d+\.\d+$/.test(`${version}`))).toEqual([]);
});

test("npm runs no install script of any package", async () => {
  const scripted = packagesOf("package-lock.json").filter(({ hasInstallScript }) => hasInstallScript);
  expect(scripted.length).toBeGreaterThan(0);
  expect((await npm("config", "get", "ignore-scripts")).trim()).toBe("true");
  expect(manifest.allowScripts).toBeUndefined();
  expect(projectNode.scripts).toBeUndefined();
});

describe("the Node that runs this project", () => {
  const platforms = Object.entries<string>(projectNode.optionalDependencies);
  const locked = packagesOf("package-lock.json").filter(({ name }) =>
    platforms.some(([platform]) => platform === name),
  );

  test("the lock file pins its package for every platform, for development only and without a script", () => {
    expect(locked.map(({ name, version }) => [name, version])).toEqual(platforms);
    for (const { dev, optional, integrity, hasInstallScript } of locked) {
      expect({ dev, optional, hasInstallScript }).toEqual({ dev: true, optional: true });
      expect(integrity).toMatch(/^sha512-/);
    }
  });

  test("the process is the program of the locked package, in the locked version", ({ skip }) => {
    const platform = process.platform === "win32" ? "win" : process.platform;
    const own = locked.find(({ name }) => name === `node-${platform}-${process.arch}`);
    if (own === undefined) {
      process.stderr.write(`skipped: the lock file has no Node for ${platform} on ${process.arch}\n`);
      return skip(`the lock file has no Node for ${platform} on ${process.arch}`);
    }
    const folder = realpathSync(join(root, "node_modules", own.name));
    const { bin, version } = read(`node_modules/${own.name}/package.json`);
    expect(realpathSync(process.execPath)).toBe(join(folder, bin.node));
    expect([version, process.version]).toEqual([own.version, `v${own.version}`]);
  });
});

test("npm run sbom lists every package with its hash", async () => {
  const options = { cwd: root, maxBuffer: MAX_OUTPUT };
  const bill = JSON.parse((await promisify(exec)(manifest.scripts.sbom, options)).stdout);
  expect(bill).toMatchObject({ bomFormat: "CycloneDX", metadata: { component: { type: "application" } } });
  const components = bill.components as readonly { purl: string; hashes?: readonly { alg: string }[] }[];
  const registry = components.filter(({ purl }) => !purl.startsWith("pkg:npm/project-node@"));
  const listed = registry.map(({ purl }) => decodeURIComponent(purl));
  const locked = packagesOf("package-lock.json").map(({ name, version }) => `pkg:npm/${name}@${version}`);
  expect(new Set(listed)).toEqual(new Set(locked));
  expect(registry.filter(({ hashes }) => hashes?.[0]?.alg !== "SHA-512")).toEqual([]);
});
