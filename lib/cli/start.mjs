// The entry file in a clone of the repository. Without the compile cache, Node strips the types of every source file at
// each start, in twice the time and with 40 MB of memory; of one file alone, the stripper takes 15 MB.
import "./node-guard.mjs";
import module from "node:module";
import { fileURLToPath } from "node:url";

module.enableCompileCache(fileURLToPath(new URL("../../node_modules/.cache/store-orders", import.meta.url)));
await import("./bin.ts");
