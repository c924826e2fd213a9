/** Measures the import of a module in a fresh process: `import-time.ts FILE` reports the milliseconds to its parent. */
import { pathToFileURL } from "node:url";

const file = pathToFileURL(process.argv[2] ?? "").href;
const startedAt = performance.now();
await import(file);
process.send?.(performance.now() - startedAt);
process.disconnect();
// The module may keep handles open.
process.exit();
