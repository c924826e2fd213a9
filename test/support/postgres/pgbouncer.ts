import { spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../free-port.ts";
import { type PostgresServer, unprivilegedUser } from "./server.ts";

/** Starts PgBouncer (`apt-get install pgbouncer`) in transaction mode: each transaction can have another session. */
export async function startPgbouncer(
  program: string,
  server: PostgresServer,
  others: Readonly<Record<string, number>> = {},
) {
  const user = unprivilegedUser();
  const folder = mkdtempSync(join(tmpdir(), "store-orders-pgbouncer-"));
  const port = await freePort();
  const users = join(folder, "users.txt");
  writeFileSync(users, '"postgres" ""\n');
  const settings = {
    ...{
      listen_addr: "127.0.0.1",
      listen_port: port,
      unix_socket_dir: "",
      auth_type: "trust",
      auth_file: users,
    },
    // Fewer sessions than a store has connections, so that they change hands.
    ...{ pool_mode: "transaction", default_pool_size: 5, max_client_conn: 500 },
    ...others,
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`);
  const file = join(folder, "pgbouncer.ini");
  const databases = `* = host=127.0.0.1 port=${server.port}`;
  writeFileSync(file, `[databases]\n${databases}\n[pgbouncer]\n${lines.join("\n")}\n`);
  if (user !== undefined) for (const path of [folder, users, file]) chownSync(path, user.uid, user.gid);
  const pooler = spawn(program, [file], { ...user, stdio: ["ignore", "ignore", "pipe"] });
  let log = "";
  pooler.stderr.on("data", (chunk: Buffer) => {
    log = `${log}${chunk}`.slice(-4_000);
  });
  while (!(await isListening(port))) {
    if (pooler.exitCode !== null) throw new Error(`PgBouncer ended with ${pooler.exitCode}: ${log}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  return {
    url: (database = "postgres") => `postgres://postgres@127.0.0.1:${port}/${database}`,
    async stop() {
      const ended = once(pooler, "exit");
      pooler.kill("SIGTERM");
      pooler.kill("SIGTERM");
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function isListening(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  const listens = await Promise.race([
    once(socket, "connect").then(() => true),
    once(socket, "error").then(() => false),
  ]).catch(() => false);
  socket.destroy();
  return listens;
}
