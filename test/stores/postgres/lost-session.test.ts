import { createServer } from "node:net";
import { expect, test } from "vitest";
import { isStoreUnavailable } from "../../../lib/core/errors.ts";
import { createPostgresStore } from "../../../lib/stores/postgres/index.ts";
import { listenOn } from "../../support/free-port.ts";

/** A message of the server: https://www.postgresql.org/docs/current/protocol-message-formats.html */
function message(type: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5, type);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

const AUTHENTICATED = message("R", Buffer.alloc(4));
const READY = message("Z", Buffer.from("I"));
const ENDED = message("E", Buffer.from("SFATAL\0VFATAL\0C57P01\0Mterminating connection\0\0"));

test("a session that the server ends as soon as it has begun is a lost connection, and ends no process", async () => {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => socket.end(Buffer.concat([AUTHENTICATED, READY, ENDED])));
  });
  const port = await listenOn(server);
  const store = createPostgresStore({ connectionString: `postgres://app@127.0.0.1:${port}/shop` });
  const error = await store.check().catch((reason: unknown) => reason);
  expect(isStoreUnavailable(error) && error.retryable).toBe(true);
  await store.close();
  server.close();
});

test("a driver whose query throws after another was sent on a lost connection ends no process", async () => {
  let queries = 0;
  const connection = {
    pipeline: true,
    query() {
      if (++queries % 2 === 0) throw new Error("The client is closed.");
      return Promise.reject(new Error("The connection is lost."));
    },
    release() {},
  };
  const store = createPostgresStore({ pool: { connect: async () => connection } });
  await expect(store.orders.find(1n)).rejects.toThrow();
  expect(queries).toBeGreaterThan(1);
});
