// The entry for Pulumi. Plain JavaScript, because an older Node cannot load the program, and gives no reason.
import "../lib/cli/node-guard.mjs";

// Pulumi warns about an output that is undefined.
const outputs = Object.entries(await import("./program.ts")).filter(([, value]) => value !== undefined);
export default Object.fromEntries(outputs);
