// What Pulumi runs. Plain JavaScript, because an older Node cannot load the program, and does not say why.
import "../lib/cli/node-guard.mjs";

// Pulumi warns about an output that is undefined.
const outputs = Object.entries(await import("./program.ts")).filter(([, value]) => value !== undefined);
export default Object.fromEntries(outputs);
