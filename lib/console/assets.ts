import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { SCRIPT } from "./script.ts";
import { STYLE } from "./style.ts";

/** A file of the page. */
export interface Asset {
  readonly type: string;
  readonly content: string;
}

/** The build puts the file beside the bundle. */
const IDIOMORPH = import.meta.url.endsWith(".ts")
  ? createRequire(import.meta.url).resolve("idiomorph/dist/idiomorph.min.js")
  : new URL("idiomorph.js", import.meta.url);

const JAVASCRIPT = "text/javascript; charset=utf-8";

/** Returns a file of the page: its style sheet, its script, or the library that updates it in place. */
export async function assetOf(name: string): Promise<Asset> {
  if (name === "console.css") return { type: "text/css; charset=utf-8", content: STYLE };
  if (name === "console.js") return { type: JAVASCRIPT, content: SCRIPT };
  return { type: JAVASCRIPT, content: await readFile(IDIOMORPH, "utf8") };
}
