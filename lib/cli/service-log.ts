import type { WriteStream } from "node:tty";
import { styleText } from "node:util";
import { type Command, Option } from "commander";
import { redactKeys } from "../accounts/api-key.ts";
import { escapeLine } from "../core/text.ts";
import type { Clock } from "../core/time.ts";
import {
  type AccessFields,
  accessFields,
  type ClientInfo,
  type RequestEvent,
  toLogLine,
} from "../http/request-event.ts";
import { formatLogEntry, type LogLevel, type Terminal } from "./terminal.ts";

export type LogThreshold = LogLevel | "silent";

const LOG_LEVELS: readonly LogThreshold[] = ["silent", "error", "warn", "info"];

export interface LogFlags {
  readonly logLevel: LogThreshold;
  readonly logAddresses?: boolean;
}

export function addLogOptions(command: Command): Command {
  return command
    .addOption(
      new Option("--log-level <level>", "the least important lines to log; requests that succeed are info")
        .choices(LOG_LEVELS)
        .default("info", "info"),
    )
    .option("--log-addresses", "log the IP addresses of callers");
}

export function createServiceLog(
  { log, screen }: Pick<Terminal, "log" | "screen">,
  { logLevel, logAddresses = false }: LogFlags,
  { json = false, clock }: { readonly json?: boolean | undefined; readonly clock: Clock },
) {
  const isReadable = screen !== undefined && !json;
  const isLogged = (level: LogLevel) => LOG_LEVELS.indexOf(level) <= LOG_LEVELS.indexOf(logLevel);

  function onRequest(event: RequestEvent, source: ClientInfo): void {
    const { status, bodyEnd } = event;
    // A failure of the service is an error. A rejected request is not, nor one with an unknown method (501).
    const isFailure = (status >= 500 && status !== 501) || bodyEnd === "failed";
    const level = isFailure ? "error" : "info";
    if (event.startsBan)
      write("warn", `Key ${event.keyId} is banned until ${event.limitedUntil}: it went on after a 429.`);
    if (!isLogged(level)) return;
    const { at, ...fields } = accessFields(event, new Date(clock()));
    const line = { at, level, ...fields, ...(logAddresses ? source : {}) };
    log(isReadable ? readableLine(line, screen) : toLogLine(line));
  }

  /** Logs a message about the process. The details are in lines of JSON only. */
  function write(level: LogLevel, message: string, details?: object): void {
    if (!isLogged(level)) return;
    const text = message.length > MAX_MESSAGE_CHARS ? `${message.slice(0, MAX_MESSAGE_CHARS)}…` : message;
    log(isReadable ? escapeLine(text) : formatLogEntry(level, text, new Date(clock()), details));
  }

  return { onRequest: logLevel === "silent" ? undefined : onRequest, write };
}

/** The message about a file that is wrong everywhere names each place. */
const MAX_MESSAGE_CHARS = 10_000;

/** One line for people: `12:00:00 200 GET /v1/store/orders 1.2 ms demo f81d4fae-…`. */
function readableLine(fields: AccessFields & ClientInfo, stream: WriteStream): string {
  const { status, path = "-", address, bodyEnd, error } = fields;
  const color = status >= 500 ? "red" : status >= 400 ? "yellow" : "green";
  const words = [
    styleText("dim", fields.at.slice(11, 19), { stream }),
    styleText(color, `${status}`, { stream }),
    fields.method,
    printable(path),
    `${fields.durationMs} ms`,
    fields.accountId ?? (fields.claimedAccountId && `(${fields.claimedAccountId}?)`),
    address && printable(address),
    fields.errorCode,
    fields.limitedUntil && `limit ${fields.limit} until ${fields.limitedUntil}`,
    bodyEnd === "complete" ? undefined : `body ${bodyEnd}`,
    error && `(${printable(error)})`,
    fields.traceparent,
    styleText("dim", fields.requestId, { stream }),
  ];
  return words.filter((word) => word !== undefined).join(" ");
}

/** The input of a caller must not control the terminal. */
function printable(text: string): string {
  return escapeLine(redactKeys(text));
}
