import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { invalidInput } from "../errors.ts";

/**
 * Starts to listen and returns the server's address, without a path. Rejects if the address is in use, and with
 * `InvalidInputError` if the host is empty: Node would listen on every address of the machine.
 */
export async function listen(server: Server, port: number, host: string): Promise<string> {
  if (host === "") throw invalidInput("host", EMPTY_HOST);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(port, host, resolve);
  });
  const { port: bound } = server.address() as AddressInfo;
  return `http://${host.includes(":") ? `[${host}]` : host}:${bound}`;
}

/** What to do about a host that is empty, such as one from a variable that is not set. */
export const EMPTY_HOST =
  "The host is empty. Use 127.0.0.1 for this machine only, or 0.0.0.0 for every address of it.";
