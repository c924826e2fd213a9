import { once } from "node:events";
import type { Socket } from "node:net";
import { createSecureContext, createServer } from "node:tls";
import type { IssuedCertificate } from "./certificates.ts";
import { listenOn } from "./free-port.ts";

/** Serves certificates by server name. A host without one gets an alert instead of a certificate. */
export async function startTlsServer(initial: Readonly<Record<string, IssuedCertificate>>) {
  const certificates = new Map(Object.entries(initial));
  const names: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer({
    SNICallback(name, callback) {
      names.push(name);
      const found = certificates.get(name) ?? certificates.get("*");
      if (found === undefined) return callback(new Error(`${name} has no certificate`));
      callback(null, createSecureContext({ cert: found.cert, key: found.key }));
    },
  });
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => {}).on("close", () => sockets.delete(socket));
  });
  server.on("tlsClientError", () => {});
  server.on("secureConnection", (socket) => socket.on("error", () => {}));
  return {
    port: await listenOn(server),
    /** The server names that clients requested, in order. */
    names,
    /** The certificate of each host, which may be changed at any time. Other hosts get the one for "*". */
    certificates,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

export type TlsServer = Awaited<ReturnType<typeof startTlsServer>>;
