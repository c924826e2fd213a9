#!/usr/bin/env node
/** The command line's entry: the one file here that touches the process. It begins on any Node, to say what it needs. */
import "./node-guard.mjs";
import module from "node:module";
import { fileURLToPath } from "node:url";

// Run from the sources, Node would strip their types again at every start: twice the time, and 40 MB of memory.
if (import.meta.url.endsWith(".ts")) {
  module.enableCompileCache(
    fileURLToPath(new URL("../../node_modules/.cache/store-orders", import.meta.url)),
  );
}

const { redactKeys: withoutKeys } = await import("../accounts/api-key.ts");
process.on("uncaughtException", (error) => {
  process.stderr.write(`error: ${error instanceof Error ? withoutKeys(error.message) : "unknown"}\n`);
  process.exit(1);
});

const [{ runProgram }, { stopSignal }] = await Promise.all([
  import("./program.ts"),
  import("./stop-signal.ts"),
]);

process.exitCode = await runProgram({
  argv: process.argv.slice(2),
  env: process.env,
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  stopped: () => stopSignal(process),
});
