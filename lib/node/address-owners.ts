import { randomInt } from "node:crypto";
import { createSocket } from "node:dgram";
import { isIPv6 } from "node:net";
import { type ADDRESS_TYPES, encodeQuery, readOwners } from "./dns-message.ts";

/**
 * Finds out which names own the addresses in the answer for a name: the name itself, or the target of its CNAME. Node's
 * own resolver returns the addresses without their owners. Queries once over UDP; undefined if that gives no answer.
 */
export async function findAddressOwners(
  server: string,
  name: string,
  type: keyof typeof ADDRESS_TYPES,
  timeoutMs: number,
): Promise<readonly string[] | undefined> {
  const { address, port } = parseServer(server);
  const socket = createSocket(isIPv6(address) ? "udp6" : "udp4");
  const id = randomInt(0x10000);
  try {
    return await new Promise((resolve, reject) => {
      socket.on("error", reject);
      socket.on("message", (message) => {
        const owners = readOwners(message, id, type);
        if (owners !== undefined) resolve(owners);
      });
      // Messages from other addresses are dropped by a connected socket.
      socket.connect(port, address, () => socket.send(encodeQuery(id, name, type)));
      setTimeout(() => resolve(undefined), timeoutMs).unref();
    });
  } catch {
    return undefined;
  } finally {
    socket.close();
  }
}

/** Parses an address as `dns.getServers()` returns it: the port only if it is not 53. */
function parseServer(server: string): { readonly address: string; readonly port: number } {
  const [, v6, v6Port] = /^\[(.+)\]:(\d+)$/.exec(server) ?? [];
  if (v6 !== undefined) return { address: v6, port: Number(v6Port) };
  const [address = server, port = "53"] = isIPv6(server) ? [server] : server.split(":");
  return { address, port: Number(port) };
}
