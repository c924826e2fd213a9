/** How long a module takes to import in a fresh process: `import-time.ts FILE` tells its parent the milliseconds. */
import { pathToFileURL } from "node:url";

const file = pathToFileURL(process.argv[2] ?? "").href;
const began = performance.now();
await import(file);
process.send?.(performance.now() - began);
process.disconnect();
// What the module keeps open is of no interest.
process.exit();
