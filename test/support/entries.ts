import { readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

const ROOT = new URL("../..", import.meta.url).pathname;
const manifest = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
  readonly exports: Readonly<Record<string, string | { readonly default: string }>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
};

export interface Entry {
  /** As a program imports it: `store-orders/sqlite`. */
  readonly name: string;
  /** The module, relative to the root. */
  readonly source: string;
  /** The optional peer dependencies that its modules import, and those of what it bundles. */
  readonly peers: readonly string[];
}

/** By module of an entry point: the modules that it bundles when it is used. */
const BUNDLED: Readonly<Record<string, readonly string[]>> = {
  "infra/index.ts": ["infra/functions/entry.ts"],
};

/** Every entry point, in the order of the manifest. */
export const ENTRIES: readonly Entry[] = Object.entries(manifest.exports).flatMap(([path, target]) => {
  if (typeof target === "string") return [];
  const source = target.default.replace("./dist/", "").replace(/\.js$/, ".ts");
  const peers = [...new Set([source, ...(BUNDLED[source] ?? [])].flatMap(packagesOf))].filter(
    (name) => name in manifest.peerDependencies,
  );
  return [{ name: path.replace(".", "store-orders"), source, peers }];
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
