import { globSync, readFileSync } from "node:fs";

/** What may grow only by a decision: each part of the project, with its files, its unit, and the most that it may have. */
export const SIZE_LIMITS = [
  {
    part: "lib and infra",
    files: ["lib/**/*.{ts,mjs,js,css}", "infra/**/*.{ts,mjs,js,css}"],
    unit: "lines",
    max: 33_700,
  },
  { part: "test", files: ["test/**/*.{ts,mjs,js,sh,css}"], unit: "lines", max: 60_000 },
  {
    part: "documents",
    files: ["*.md", "{.github,lib,infra,test,findings}/**/*.md"],
    unit: "words",
    max: 51_000,
  },
] as const;

/** What tests and examples leave beside the sources. */
const isForeign = (path: string) => /^(node_modules|dist|\.next|\.data)$/.test(path);

/** How large each part is now. */
export function measureSizes() {
  return SIZE_LIMITS.map((limit) => {
    const files = globSync(limit.files, { exclude: isForeign });
    const texts = files.map((file) => readFileSync(file, "utf8"));
    const counts = texts.map((text) => text.match(limit.unit === "lines" ? /\n/g : /\S+/g)?.length ?? 0);
    return { ...limit, files: files.length, size: counts.reduce((sum, count) => sum + count, 0) };
  });
}
