#!/usr/bin/env node
/** The entry file of the command line, which passes it the arguments, environment and streams of the process. */
// Also runs on older versions of Node, and explains which version is needed.
import "./node-guard.mjs";

const [{ redactKeys }, { formatErrorReport, toErrorReport, wantsJson }, { formatLogEntry }] =
  await Promise.all([import("../accounts/api-key.ts"), import("./errors.ts"), import("./terminal.ts")]);
process.on("uncaughtException", (error) => {
  const argv = process.argv.slice(2);
  const report = toErrorReport(error);
  // The log of a service consists of lines of JSON, and its last one says why the process ended.
  const isLogLine = argv.includes("serve") && !process.stderr.isTTY;
  const line = isLogLine
    ? formatLogEntry("error", `The process ended: ${report.message}`, new Date())
    : formatErrorReport(report, wantsJson(argv));
  process.stderr.write(`${redactKeys(line)}\n`);
  process.exit(1);
});

const [{ runProgram }, { waitForStopSignal }] = await Promise.all([
  import("./program.ts"),
  import("./stop.ts"),
]);

/** The time for writing log lines after a signal to stop: a stalled reader must not keep the process. */
const LOG_FLUSH_MS = 1_000;
let stopped = false;

process.exitCode = await runProgram({
  argv: process.argv.slice(2),
  env: process.env,
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  async waitForStop() {
    const signal = await waitForStopSignal(process);
    stopped = true;
    return signal;
  },
});
if (stopped) setTimeout(() => process.exit(), LOG_FLUSH_MS).unref();
