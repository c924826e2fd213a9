import { createServer } from "node:net";
import { createSecureContext, TLSSocket } from "node:tls";
import { expect, onTestFinished, test } from "vitest";
import { errorMessage } from "../../../lib/core/errors.ts";
import { createPostgresStore, isStoreUnavailable } from "../../../lib/stores/postgres/index.ts";
import { createTestAuthority } from "../../support/certificates.ts";
import { listenOn } from "../../support/free-port.ts";

/** A server that agrees to TLS, or refuses it, as PostgreSQL does. Returns its port. */
async function startServer(answer: "S" | "N"): Promise<number> {
  const certificate = createTestAuthority().issue(["localhost"]);
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => {
      socket.write(answer);
      if (answer === "N") return;
      const secureContext = createSecureContext(certificate);
      new TLSSocket(socket, { isServer: true, secureContext }).on("error", () => socket.destroy());
    });
  });
  onTestFinished(() => void server.close());
  return await listenOn(server);
}

test.each<["S" | "N", string, RegExp]>([
  ["S", "?sslmode=verify-full", /(certificate|signature)/],
  ["S", "?sslrootcert=system", /(certificate|signature)/],
  ["N", "?sslmode=verify-full", /does not support SSL/],
  ["S", "?sslrootcert=/no/such/ca.pem", /ENOENT.*ca\.pem/],
  ["S", "?sslrootcert=/", /EISDIR/],
])(
  "a server that answers %s to a connection with %s: what to correct, since this is no outage",
  async (answer, parameters, cause) => {
    const connectionString = `postgres://u@127.0.0.1:${await startServer(answer)}/d${parameters}`;
    const store = createPostgresStore({ connectionString });
    onTestFinished(() => store.close());
    const error = await store.orders.find(1n).catch((error: unknown) => error);
    expect(isStoreUnavailable(error) && error.retryable).toBe(false);
    expect(errorMessage(error)).toMatch(/^Correct the TLS of the connection: /);
    expect(errorMessage(error)).toMatch(cause);
  },
);

test("a socket that does not exist is an outage: its server may start", async () => {
  const store = createPostgresStore({ connectionString: "postgres://u@/d?host=/no/such/folder" });
  onTestFinished(() => store.close());
  await expect(store.orders.find(1n)).rejects.toMatchObject({ retryable: true });
});
