/**
 * Writes the API reference of the public entries into `dist/reference`, from their docstrings: `npm run docs`. Ends
 * with an error where one of them is not documented.
 */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ENTRIES } from "../support/entries.ts";
import { homeOfPackages, installPackages } from "../support/install-packages.ts";

const SOURCE = fileURLToPath(new URL(".", import.meta.url));
const ROOT = fileURLToPath(new URL("../..", import.meta.url));
/** The generator works with an older compiler, which neither the project nor its tools are to meet. */
const HOME = homeOfPackages("reference");

installPackages(SOURCE, HOME);

const generator = join(HOME, "node_modules/typedoc/bin/typedoc");
const entryPoints = ENTRIES.flatMap(({ source }) => ["--entryPoints", join(ROOT, source)]);
const options = ["--options", join(SOURCE, "typedoc.json"), ...entryPoints];
const { status } = spawnSync(process.execPath, [generator, ...options], { cwd: SOURCE, stdio: "inherit" });
process.exitCode = status ?? 1;
