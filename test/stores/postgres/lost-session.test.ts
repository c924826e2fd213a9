import { createServer } from "node:net";
import { expect, test } from "vitest";
import { STORES } from "../../../lib/cli/stores.ts";
import { errorMessage, isStoreUnavailable } from "../../../lib/core/errors.ts";
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
const IN_TRANSACTION = message("Z", Buffer.from("T"));

test.each([
  ["is ended by the server as soon as it has begun", [READY, ENDED], /cannot be used/],
  ["begins in a transaction", [IN_TRANSACTION], /of another program was open on it/],
])(
  "a session that %s fails a call, or the check of a database, with the reason, and ends no process",
  async (_how, messages, reason) => {
    const server = createServer((socket) => {
      socket.on("error", () => {});
      socket.once("data", () => socket.write(Buffer.concat([AUTHENTICATED, ...messages])));
    });
    const url = `postgres://app@127.0.0.1:${await listenOn(server)}/shop`;
    const store = createPostgresStore({ connectionString: url });
    const { inspect, close } = await STORES.postgres.inspect(url);
    for (const call of [store.check, () => inspect(() => {})]) {
      const error = await call().catch((thrown: unknown) => thrown);
      expect(isStoreUnavailable(error) && error.retryable).toBe(true);
      expect(errorMessage(error)).toMatch(reason);
    }
    await Promise.all([store.close(), close()]);
    server.close();
  },
);

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
