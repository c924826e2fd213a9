import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";

const root = new URL("..", import.meta.url).pathname;
const read = (file: string) => JSON.parse(readFileSync(join(root, file), "utf8"));
const manifest = read("package.json");

interface Locked {
  readonly version: string;
  readonly integrity?: string;
  readonly license?: string;
  readonly resolved?: string;
  readonly link?: boolean;
  readonly hasInstallScript?: boolean;
  readonly dev?: boolean;
}

/** What a lock file would install, by name. */
function packagesOf(lock: string): readonly (Locked & { readonly name: string })[] {
  const { packages } = read(lock) as { packages: Readonly<Record<string, Locked>> };
  return Object.entries(packages).flatMap(([path, locked]) =>
    path === "" ? [] : [{ ...locked, name: path.slice(path.lastIndexOf("node_modules/") + 13) }],
  );
}

/** Licences under which anything may stand beside code under the MIT licence, shipped or not. */
const PERMISSIVE = [
  ...["MIT", "ISC", "0BSD", "BSD-2-Clause", "BSD-3-Clause", "Apache-2.0", "BlueOak-1.0.0"],
  ...["CC0-1.0", "Python-2.0", "Zlib", "CC-BY-3.0"],
];
/** Copyleft by the file: good for a tool that is used as it is and not shipped. */
const FOR_TOOLS = [...PERMISSIVE, "MPL-2.0"];

describe.each(["package-lock.json", "test/bench/peers/package-lock.json"])("%s", (lock) => {
  const packages = packagesOf(lock);

  test("holds every package to its content and to the registry", () => {
    expect(packages.length).toBeGreaterThan(100);
    const loose = packages.filter(
      ({ integrity, link, resolved }) =>
        !/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity ?? "") || link === true || resolved !== undefined,
    );
    expect(loose.map(({ name }) => name)).toEqual([]);
  });

  test("has licences that go with ours", () => {
    const allowed = ({ name, license, dev }: (typeof packages)[number]) => {
      const terms = license?.match(/[\w.-]+/g)?.filter((term) => term !== "AND" && term !== "OR");
      if (license === "SEE LICENSE IN LICENSE") {
        return /^The MIT License/.test(readFileSync(join(root, "node_modules", name, "LICENSE"), "utf8"));
      }
      return terms?.every((term) => (dev === true ? FOR_TOOLS : PERMISSIVE).includes(term)) ?? false;
    };
    const others = packages.filter((entry) => !allowed(entry));
    expect(others.map(({ name, license }) => `${name}: ${license}`)).toEqual([]);
  });
});

test("versions are exact", () => {
  const versions = Object.entries({
    ...manifest.dependencies,
    ...manifest.devDependencies,
    ...read("test/bench/peers/package.json").dependencies,
  });
  expect(versions.filter(([, version]) => !/^\d+\.\d+\.\d+$/.test(`${version}`))).toEqual([]);
});

test("every install script is named, and one alone may run: the one that puts Node in its place", () => {
  const scripted = packagesOf("package-lock.json").filter(({ hasInstallScript }) => hasInstallScript);
  const named: Readonly<Record<string, boolean>> = manifest.allowScripts;
  expect(Object.keys(named).toSorted()).toEqual(scripted.map(({ name }) => name).toSorted());
  expect(Object.keys(named).filter((name) => named[name])).toEqual(["node"]);
});

test("npm run sbom names every package with its hash and licence", async () => {
  const { stdout } = await promisify(execFile)("npm", ["run", "--silent", "sbom"], {
    cwd: root,
    maxBuffer: 64 * 1024 * 1024,
  });
  const bill = JSON.parse(stdout);
  expect(bill).toMatchObject({ bomFormat: "CycloneDX", metadata: { component: { type: "application" } } });
  const listed = bill.components as readonly { purl: string; hashes: readonly { alg: string }[] }[];
  const inLock = packagesOf("package-lock.json").map(({ name, version }) => `pkg:npm/${name}@${version}`);
  const purls = listed.map(({ purl }) => decodeURIComponent(purl));
  expect(purls.filter((purl) => !inLock.includes(purl))).toEqual([]);
  for (const name of Object.keys({ ...manifest.dependencies, ...manifest.devDependencies })) {
    expect(purls.some((purl) => purl.startsWith(`pkg:npm/${name}@`))).toBe(true);
  }
  expect(listed.filter(({ hashes }) => hashes[0]?.alg !== "SHA-512")).toEqual([]);
});
