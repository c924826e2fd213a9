import { invalidInput } from "../core/errors.ts";
import { systemErrorCode } from "../files/read.ts";
import { EMPTY_HOST, formatHost } from "../node/listen.ts";
import { invalid } from "./arguments.ts";
import { AddressUnavailableError } from "./errors.ts";
import { type EnvironmentVariables, invalidValue, readVariable } from "./settings.ts";

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

const PORT_HINT = "Use a port number from 0 to 65535; 0 selects a free port.";

export function readPort(text: string): number {
  return parsePort(text) ?? invalid(PORT_HINT);
}

/** Reads `[HOST:]PORT`. An IPv6 address is in brackets. */
export function readAddress(text: string): ListenAddress {
  const [, host = "127.0.0.1", digits = ""] = /^(?:\[?([^[\]]+?)\]?:)?([^:]+)$/.exec(text) ?? [];
  const port = parsePort(digits);
  if (port !== undefined) return { host, port };
  return invalid("Use a port, or a host and a port, such as 9464, 0.0.0.0:9464 or [::1]:9464.");
}

function parsePort(text: string): number | undefined {
  return /^\d{1,5}$/.test(text) && Number(text) <= 65_535 ? Number(text) : undefined;
}

export function readListenAddress(flags: Partial<ListenAddress>, env: EnvironmentVariables): ListenAddress {
  const host = (flags.host ?? readVariable(env, "HOST") ?? "127.0.0.1").replace(/^\[(.*)\]$/, "$1");
  if (host === "") throw invalidInput("--host", EMPTY_HOST);
  const text = readVariable(env, "PORT") ?? "8787";
  const port = flags.port ?? parsePort(text);
  if (port === undefined) throw invalidValue("PORT", text, PORT_HINT);
  return { host, port };
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: "requires elevated privileges, as each port below 1024 does",
  EADDRINUSE: "is already in use",
  EADDRNOTAVAIL: "is not an address of this machine",
  ENOTFOUND: "is not a known host",
  EAI_AGAIN: "is not a known host",
};

export async function listenOn<S>({ host, port }: ListenAddress, flags: string, start: () => Promise<S>) {
  try {
    return await start();
  } catch (error) {
    const code = systemErrorCode(error);
    const reason = REASONS[code] ?? `cannot be listened on (${code})`;
    const message = `${formatHost(host)}:${port} ${reason}. Choose another address with ${flags}.`;
    throw code === "EACCES" ? invalidInput("", message) : new AddressUnavailableError(message);
  }
}
