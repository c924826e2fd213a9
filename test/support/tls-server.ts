import { once } from "node:events";
import type { AddressInfo, Socket } from "node:net";
import { createSecureContext, createServer } from "node:tls";
import type { IssuedCertificate } from "./certificates.ts";

/** A TLS server for a test. Closed by `await using`. */
export interface TlsServer extends AsyncDisposable {
  readonly port: number;
  /** The server names that clients requested, in order. */
  readonly names: readonly string[];
  /** The certificate of each host, which may be changed at any time. Other hosts get the one for "*". */
  readonly certificates: Map<string, IssuedCertificate>;
}

/** Serves certificates by server name. A host without one gets an alert instead of a certificate. */
export async function startTlsServer(
  initial: Readonly<Record<string, IssuedCertificate>>,
): Promise<TlsServer> {
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
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    names,
    certificates,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
