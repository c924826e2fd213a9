// What Pulumi runs. Plain JavaScript, because an older Node cannot load the program, and does not say why.
import "../lib/cli/node-guard.mjs";

export default { ...(await import("./program.ts")) };
