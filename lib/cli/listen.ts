/** Addresses to listen on: their flags and variables, and the advice if an address cannot be used. */
import { invalidInput } from "../core/errors.ts";
import { EMPTY_HOST, formatHost } from "../node/listen.ts";
import { invalid } from "./arguments.ts";
import { AddressUnavailableError, systemErrorCode } from "./errors.ts";
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
  return port === undefined
    ? invalid("Use a port, or a host and a port, such as 9464, 0.0.0.0:9464 or [::1]:9464.")
    : { host, port };
}

function parsePort(text: string): number | undefined {
  return /^\d{1,5}$/.test(text) && Number(text) <= 65_535 ? Number(text) : undefined;
}

/** Reads the address to listen on from the flags, otherwise from `HOST` and `PORT`. An IPv6 address can be in brackets. */
export function readListenAddress(flags: Partial<ListenAddress>, env: EnvironmentVariables): ListenAddress {
  const host = (flags.host ?? readVariable(env, "HOST") ?? "127.0.0.1").replace(/^\[(.*)\]$/, "$1");
  if (host === "") throw invalidInput("--host", EMPTY_HOST);
  const text = readVariable(env, "PORT") ?? "8787";
  const port = flags.port ?? parsePort(text);
  if (port === undefined) throw invalidValue("PORT", text, PORT_HINT);
  return { host, port };
}

/**
 * Starts a server. If it cannot listen on its address, the error has the reason, and the name of the flag for another
 * host or port.
 */
export async function listenOn<S>(
  { host, port }: ListenAddress,
  flags: { readonly host: string; readonly port: string },
  start: () => Promise<S>,
): Promise<S> {
  try {
    return await start();
  } catch (error) {
    const code = systemErrorCode(error);
    const address = `${formatHost(host)}:${port}`;
    if (code === "EACCES")
      throw invalidInput(
        "",
        `${address} requires elevated privileges. Choose a port above 1023 with ${flags.port}.`,
      );
    const unknownHost = `is not a known host. Choose another one with ${flags.host}.`;
    const names = [...new Set([flags.host, flags.port])].join(" or ");
    const reasons: Readonly<Record<string, string>> = {
      EADDRINUSE: `is already in use. Stop the process that uses it, or choose another port with ${flags.port}.`,
      EADDRNOTAVAIL: `is not an address of this machine. Choose another one with ${flags.host}.`,
      ENOTFOUND: unknownHost,
      EAI_AGAIN: unknownHost,
    };
    const reason = reasons[code] ?? `cannot be listened on (${code}). Choose another one with ${names}.`;
    throw new AddressUnavailableError(`${address} ${reason}`);
  }
}
