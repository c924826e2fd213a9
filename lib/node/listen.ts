import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { invalidInput } from "../errors.ts";

/**
 * Starts to listen and returns the server's address, without a path. Rejects if the address is in use, and with
 * `InvalidInputError` if the host is empty, for which Node would listen on every address of the machine, or if the port
 * is not one.
 */
export async function listen(server: Server, port: number, host: string): Promise<string> {
  if (host === "") throw invalidInput("host", EMPTY_HOST);
  // Node would read a text as the path of a socket, and choose a port if there is none.
  if (!Number.isInteger(port) || port < 0 || port > 65_535) throw invalidInput("port", PORT_RULE);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(port, host, resolve);
  });
  const { port: bound } = server.address() as AddressInfo;
  return `http://${formatHost(host)}:${bound}`;
}

/** What to do about a host that is empty, such as one from a variable that is not set. */
export const EMPTY_HOST =
  "The host is empty. Use 127.0.0.1 for this machine only, or 0.0.0.0 for every address of it.";

const PORT_RULE = "Use a whole number from 0 to 65535; 0 chooses a free port.";

/** A host as it is written before a port: an IPv6 address is in brackets. */
export function formatHost(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}
