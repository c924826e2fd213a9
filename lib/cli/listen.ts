import { invalidInput } from "../errors.ts";
import { formatHost } from "../node/listen.ts";
import { systemErrorCode } from "./system-error.ts";

/** An address to listen on. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** The flags that choose an address, as they are named in an error. */
export interface AddressFlags {
  readonly host: string;
  readonly port: string;
}

/** Starts a server. If it cannot listen on its address, the error says why, and which flag chooses another one. */
export async function listenOn<S>(
  { host, port }: ListenAddress,
  flags: AddressFlags,
  start: () => Promise<S>,
): Promise<S> {
  try {
    return await start();
  } catch (error) {
    const reason = explain(systemErrorCode(error), flags);
    throw invalidInput("", `${formatHost(host)}:${port} ${reason}`);
  }
}

function explain(code: string, { host, port }: AddressFlags): string {
  switch (code) {
    case "EADDRINUSE":
      return `is already in use. Stop the process that uses it, or choose another port with ${port}.`;
    case "EACCES":
      return `requires elevated privileges. Choose a port above 1023 with ${port}.`;
    case "EADDRNOTAVAIL":
      return `is not an address of this machine. Choose another one with ${host}.`;
    case "ENOTFOUND":
      return `is not a known host. Choose another one with ${host}.`;
    default:
      return `cannot be listened on (${code}). Choose another one with ${[...new Set([host, port])].join(" or ")}.`;
  }
}
