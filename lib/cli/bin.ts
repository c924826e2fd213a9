#!/usr/bin/env node
// Also runs on older versions of Node, and explains which version is needed.
import "./node-guard.mjs";

const { fstatSync } = await import("node:fs");
const { redactKeys } = await import("../accounts/api-key.ts");
const { formatErrorReport, toErrorReport, wantsJson } = await import("./errors.ts");
const { createFileStream, formatLogEntry } = await import("./terminal.ts");
const argv = process.argv.slice(2);
const isJson = wantsJson(argv);
// The log of a service consists of lines of JSON, and its last one says why the process ended.
const isLog = argv.includes("serve") && (isJson || !process.stderr.isTTY);
const writeLine = (line: string) => process.stderr.write(`${redactKeys(line)}\n`);
process.on("uncaughtException", (error) => {
  const report = toErrorReport(error);
  const logLine = () => formatLogEntry("error", `The process ended: ${report.message}`, new Date());
  writeLine(isLog ? logLine() : formatErrorReport(report, isJson));
  process.exit(1);
});
// Node's own listener writes text. There is none if warnings are off.
if ((isLog || isJson) && process.listenerCount("warning") > 0) {
  process.removeAllListeners("warning");
  process.on("warning", ({ name, message }) => {
    if (name === "DeprecationWarning" && process.noDeprecation) return;
    const report = { code: "warning", message: `${name}: ${message}` };
    writeLine(isLog ? formatLogEntry("warn", report.message, new Date()) : formatErrorReport(report, true));
  });
}

const { runProgram } = await import("./program.ts");

const PARENT_CHECK_INTERVAL_MS = 250;
/** The time for writing log lines after a signal to stop: a stalled reader must not keep the process. */
const LOG_FLUSH_MS = 1_000;
let stopped = false;

/** Resolves at the first signal to stop, with its name. A second SIGTERM or SIGINT ends the process immediately. */
function waitForStop(): Promise<string> {
  const signalled = new Promise<string>((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"]) process.once(signal, () => resolve(signal));
    // A terminal that closes can send it twice.
    process.on("SIGHUP", () => resolve("SIGHUP"));
    // A signal ends the shell of an npm script without reaching this process, which then has a new parent.
    if (process.env["npm_package_name"] !== "store-orders") return;
    const parent = process.ppid;
    const timer = setInterval(() => {
      if (process.ppid === parent) return;
      clearInterval(timer);
      resolve("the end of the npm script");
    }, PARENT_CHECK_INTERVAL_MS);
    timer.unref();
  });
  return signalled.finally(() => (stopped = true));
}

const { env, stdin, stdout } = process;
const stderr = fstatSync(2).isFile() ? createFileStream(2) : process.stderr;
process.exitCode = await runProgram({ argv, env, stdin, stdout, stderr, waitForStop });
// PostgreSQL waits for a minute for the password of a client that has none, and its connection keeps the process alive.
if (stopped || process.exitCode === 3) setTimeout(() => process.exit(), LOG_FLUSH_MS).unref();
