import type { WriteStream } from "node:tty";
import { styleText } from "node:util";
import { type Command, Option } from "commander";
import { redactKeys } from "../accounts/api-key.ts";
import type { Clock } from "../clock.ts";
import { type AccessFields, accessFields, toLogLine } from "../http/access-log.ts";
import type { RequestEvent, RequestSource } from "../http/request-event.ts";
import { formatLogEntry, isLogged, LOG_LEVELS, type LogLevel, type LogThreshold } from "./log-entry.ts";
import type { Terminal } from "./terminal.ts";

/** The flags that choose what a service logs. */
export interface LogFlags {
  readonly logLevel: LogThreshold;
  readonly logAddresses?: boolean;
}

/** The log of a running service: readable lines on a terminal, otherwise lines of JSON. */
export interface ServiceLog {
  /** Logs a finished request. Missing if no request would be logged. */
  readonly onRequest?: (event: RequestEvent, source: RequestSource) => void;
  write(level: LogLevel, message: string): void;
}

/** Adds the flags of the log to a command. */
export function addLogOptions(command: Command): Command {
  return command
    .addOption(
      new Option("--log-level <level>", "the least important lines to log; requests that succeed are info")
        .choices(LOG_LEVELS)
        .default("info", "info"),
    )
    .option("--log-addresses", "log the IP addresses of callers");
}

/** Creates the log. With `json`, terminals get JSON too. */
export function createServiceLog(
  { log, screen }: Pick<Terminal, "log" | "screen">,
  { logLevel, logAddresses = false }: LogFlags,
  { json = false, clock }: { readonly json?: boolean | undefined; readonly clock: Clock },
): ServiceLog {
  const isReadable = screen !== undefined && !json;

  function onRequest(event: RequestEvent, source: RequestSource): void {
    const level = levelOf(event);
    if (!isLogged(level, logLevel)) return;
    const { at, ...fields } = accessFields(event, new Date(clock()));
    const line = { at, level, ...fields, ...(logAddresses ? source : {}) };
    log(isReadable ? readableLine(line, screen) : toLogLine(line));
  }

  return {
    ...(logLevel === "silent" ? {} : { onRequest }),
    write(level, message) {
      if (!isLogged(level, logLevel)) return;
      log(isReadable ? message : formatLogEntry(level, message, new Date(clock())));
    },
  };
}

/** A failure of the service is an error. A rejected request is not. */
function levelOf({ status, bodyEnd }: RequestEvent): LogLevel {
  return status >= 500 || bodyEnd === "failed" ? "error" : "info";
}

/** One line for people: `12:00:00 200 GET /v1/store/orders 1.2 ms demo f81d4fae-…`. */
function readableLine(fields: AccessFields & RequestSource, stream: WriteStream): string {
  const {
    at,
    requestId,
    status,
    method,
    path = "-",
    durationMs,
    accountId,
    address,
    errorCode,
    bodyEnd,
    error,
    traceparent,
  } = fields;
  const color = status >= 500 ? "red" : status >= 400 ? "yellow" : "green";
  const words = [
    styleText("dim", at.slice(11, 19), { stream }),
    styleText(color, `${status}`, { stream }),
    method,
    printable(path),
    `${durationMs} ms`,
    ...(accountId === undefined ? [] : [accountId]),
    ...(address === undefined ? [] : [printable(address)]),
    ...(errorCode === undefined ? [] : [errorCode]),
    ...(bodyEnd === "complete" ? [] : [`body ${bodyEnd}`]),
    ...(error === undefined ? [] : [`(${printable(error)})`]),
    ...(traceparent === undefined ? [] : [traceparent]),
    styleText("dim", requestId, { stream }),
  ];
  return words.join(" ");
}

/** What a caller sent must not control the terminal. */
function printable(text: string): string {
  return redactKeys(text).replace(/[^\x20-\x7e\u00a0-\uffff]|[\p{Cf}\p{Zl}\p{Zp}]/gu, "?");
}
