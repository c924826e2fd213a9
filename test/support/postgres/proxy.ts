import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

/**
 * What a proxy does with the connections to a server: forwards everything, refuses all, ends each when the next COMMIT, or
 * statement that is a transaction of its own, was answered or before it is sent, or forwards nothing and keeps them open.
 * As PgBouncer 1.25.2 does, it rejects all connections but two, or ends each that uses a statement which it prepared before.
 */
export type NetworkFault = "none" | "refuse" | "lose response" | "lose request" | "hang" | "full" | "forget";

/** The message with which a server answers a COMMIT that was done: `C`, its length, and its name. */
const COMMIT_DONE = Buffer.from("C\0\0\0\x0bCOMMIT\0");
/** The same for a statement with one row that was a transaction of its own: afterwards, none is open. */
const STATEMENT_DONE = Buffer.from("C\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I");
/** With this message a server waits for the next query, with no transaction open. */
const IDLE = Buffer.from("Z\0\0\0\x05I");
/** The first byte of the message with which a client leaves. */
const TERMINATE = 0x58;
/** The statement in the message of a client, as a simple or a prepared query. */
const COMMIT_SENT = Buffer.from("COMMIT\0");

/** The message with which PgBouncer ends a connection. */
function rejection(message: string): Buffer {
  const fields = Buffer.from(`SFATAL\0VFATAL\0C08P01\0M${message}\0\0`);
  const head = Buffer.from("E\0\0\0\0");
  head.writeInt32BE(fields.length + 4, 1);
  return Buffer.concat([head, fields]);
}

/** True if a client binds a named statement that it does not prepare in these messages. */
function usesPrepared(messages: Buffer): boolean {
  const prepared = new Set([""]);
  for (let at = 0; at < messages.length; at += 1 + messages.readInt32BE(at + 1)) {
    const [first = "", second = ""] = messages.toString("latin1", at + 5).split("\0", 2);
    if (messages[at] === PARSE) prepared.add(first);
    if (messages[at] === BIND && !prepared.has(second)) return true;
  }
  return false;
}

const [PARSE, BIND] = [0x50, 0x42];

/** Starts a proxy before the PostgreSQL server at a port of this machine, which injects the faults of a network. */
export async function startPostgresProxy(serverPort: number) {
  let fault: NetworkFault = "none";
  let lost = 0;
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    if (fault === "refuse") return void client.destroy();
    const upstream = connect(serverPort, "127.0.0.1");
    const end = () => {
      client.destroy();
      upstream.destroy();
      sockets.delete(client);
    };
    sockets.add(client);
    for (const socket of [client, upstream]) socket.setNoDelay().on("error", end).on("close", end);
    let [isIdle, isStarted] = [false, false];
    client.on("data", (chunk) => {
      const isFull = fault === "full" && !isStarted && sockets.size > 2;
      if (isFull)
        return void client.end(rejection("client connections exceeded (max_db_client_connections)"));
      if (fault === "forget" && isStarted && usesPrepared(chunk))
        return void client.end(rejection("prepared statement did not exist"));
      isStarted = true;
      if (fault === "hang") return void waiting.push(() => upstream.write(chunk));
      const isStatement = isIdle && chunk[0] !== TERMINATE && !chunk.includes("BEGIN");
      if (fault === "lose request" && (isStatement || chunk.includes(COMMIT_SENT))) return void lose(end);
      upstream.write(chunk);
    });
    upstream.on("data", (chunk) => {
      if (fault === "hang") return void waiting.push(() => client.write(chunk));
      isIdle = chunk.subarray(-IDLE.length).equals(IDLE);
      const isCommitted = chunk.includes(COMMIT_DONE) || chunk.includes(STATEMENT_DONE);
      if (fault === "lose response" && isCommitted) return void lose(end);
      client.write(chunk);
    });
  });
  let waiting: (() => void)[] = [];
  const lose = (end: () => void) => {
    fault = "none";
    lost++;
    end();
  };
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as { port: number };
  return {
    port,
    /** How many responses or requests were lost. */
    get lost() {
      return lost;
    },
    /** The connection string of the server, with the port of the proxy. */
    url: (serverUrl: string) => Object.assign(new URL(serverUrl), { port: `${port}` }).href,
    /** Sets the fault. One that loses something happens once. */
    inject(next: NetworkFault) {
      fault = next;
      if (next === "refuse") for (const socket of sockets) socket.destroy();
      if (next === "hang") return;
      const held = waiting;
      waiting = [];
      for (const send of held) send();
    },
    async close() {
      const closed = once(server, "close");
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

export type PostgresProxy = Awaited<ReturnType<typeof startPostgresProxy>>;
