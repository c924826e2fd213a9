import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { invalidInput } from "../core/errors.ts";

/** The parts of `node:http` that servers and their health check need: to import it would load Node's `fetch`, 13 MiB and 30 ms. */
export const { Agent, createServer, get, STATUS_CODES } = process.getBuiltinModule("node:http");

/** Returns the address. Rejects if it is in use, and with `InvalidInputError` for an empty host or an invalid port. */
export async function listen(server: Server, port: number, host: string): Promise<string> {
  if (host === "") throw invalidInput("host", EMPTY_HOST);
  // Node would read a string as the path of a socket, and choose a port if there is none.
  if (!Number.isInteger(port) || port < 0 || port > 65_535) throw invalidInput("port", PORT_RULE);
  await new Promise<void>((resolve, reject) => {
    // A later error is that of a connection which could not be accepted. It must not end the process.
    server.on("error", reject).listen(port, host, resolve);
  });
  const { port: bound } = server.address() as AddressInfo;
  return `http://${formatHost(host)}:${bound}`;
}

/** The message for a host that is empty, such as one from a variable that is not set. */
export const EMPTY_HOST =
  "The host is empty. Use 127.0.0.1 for this machine only, or 0.0.0.0 for every address of it.";

const PORT_RULE = "Use a whole number from 0 to 65535; 0 chooses a free port.";

export function formatHost(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}
