import { execFile, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, globSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { freePort } from "../free-port.ts";
import { skipsBecause } from "../skip-reason.ts";

const run = promisify(execFile);

/** The folder with the programs of the newest PostgreSQL: Debian's, or that on the path. `undefined` if there is none. */
export function findPostgres(): string | undefined {
  const byVersion = (folder: string) => Number(/\d+/.exec(folder)?.[0]);
  const debian = globSync("/usr/lib/postgresql/*/bin").sort((a, b) => byVersion(b) - byVersion(a));
  const folders = [...debian, ...(process.env["PATH"] ?? "").split(":")];
  return folders.find((folder) => existsSync(join(folder, "initdb")) && existsSync(join(folder, "postgres")));
}

/** For `describe.skipIf()`: true, with a printed reason, if no PostgreSQL can be started. */
export function skipsWithoutPostgres(tests: string): boolean {
  const missing = "there is no PostgreSQL; install it with: apt-get install postgresql";
  return skipsBecause(tests, findPostgres() === undefined ? missing : undefined);
}

/** The user that runs a server which refuses to run as root: `postgres`, which Debian's package creates, or `nobody`. */
export function unprivilegedUser(): { readonly uid: number; readonly gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const idOf = (flag: string, user: string) =>
    Number(execFileSync("id", [flag, user], { stdio: ["ignore", "pipe", "ignore"] }));
  for (const user of ["postgres", "nobody"]) {
    try {
      return { uid: idOf("-u", user), gid: idOf("-g", user) };
    } catch {
      // The next one.
    }
  }
  throw new Error("PostgreSQL does not run as root, and there is no other user.");
}

/**
 * Starts a server of its own, in a temporary folder or the given one. `settings` are those of postgresql.conf.
 * @param settings.fsync Off by default: a test kills processes, and not the machine.
 * @param primary A server that this one follows, as a hot standby.
 */
export async function startPostgres({
  folder: parent = tmpdir(),
  settings = {},
  primary,
}: {
  readonly folder?: string;
  readonly settings?: Readonly<Record<string, string>>;
  readonly primary?: { readonly port: number };
} = {}) {
  const programs = findPostgres();
  if (programs === undefined) throw new Error("There is no PostgreSQL.");
  const user = unprivilegedUser();
  const folder = mkdtempSync(join(resolve(parent), "store-orders-postgres-"));
  if (user !== undefined) chownSync(folder, user.uid, user.gid);
  const data = join(folder, "data");
  const options = { ...user, cwd: folder, env: { PATH: process.env["PATH"], LC_ALL: "C.UTF-8" } };
  const initial = "--username=postgres --auth=trust --no-sync --encoding=UTF8 --no-instructions".split(" ");
  const copy = `-R --checkpoint=fast --no-sync -h 127.0.0.1 -p ${primary?.port} -U postgres`.split(" ");
  if (primary === undefined) await run(join(programs, "initdb"), ["-D", data, ...initial], options);
  else await run(join(programs, "pg_basebackup"), ["-D", data, ...copy], options);
  const port = await freePort();
  const all = {
    ...{ listen_addresses: "127.0.0.1", port: `${port}`, unix_socket_directories: "", fsync: "off" },
    ...{ max_connections: "200", shared_buffers: "32MB", log_min_messages: "error", ...settings },
  };
  const flags = Object.entries(all).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const launch = async () => {
    const server = spawn(join(programs, "postgres"), ["-D", data, ...flags], {
      ...options,
      stdio: ["ignore", "ignore", "pipe"],
    });
    let log = "";
    server.stderr.setEncoding("utf8").on("data", (text: string) => {
      log = `${log}${text}`.slice(-4_000);
    });
    const isReady = async () => run(join(programs, "pg_isready"), ["-q", "-h", "127.0.0.1", "-p", `${port}`]);
    while (server.exitCode === null) {
      const ready = await isReady().then(
        () => true,
        () => false,
      );
      if (ready) return server;
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
    throw new Error(`PostgreSQL ended with ${server.exitCode}: ${log}`);
  };
  let server = await launch();

  const isRunning = () => server.exitCode === null && server.signalCode === null;
  async function end(signal: NodeJS.Signals): Promise<void> {
    if (!isRunning()) return;
    const ended = once(server, "exit");
    server.kill(signal);
    await ended;
  }

  /** Runs psql with these arguments, as a role. Rejects at the first error of the server. */
  const psql = async (
    args: readonly string[],
    { database, role }: { readonly database: string; readonly role: string },
  ) => {
    const connection = ["-h", "127.0.0.1", "-p", `${port}`, "-U", role, "-d", database];
    const all = [...connection, "-XqAt", "-v", "ON_ERROR_STOP=1", ...args];
    return (await run(join(programs, "psql"), all)).stdout.trim();
  };

  return {
    port,
    /** The process of the server. It has one child for each connection. */
    get pid() {
      return server.pid ?? 0;
    },
    /** False if it has ended, for example because its disk was full. */
    get isRunning() {
      return isRunning();
    },
    /** The connection string of a database, without one of the first. Any role may connect without a password. */
    url: (database = "postgres") => `postgres://postgres@127.0.0.1:${port}/${database}`,
    /** Runs SQL as the administrator, and returns what psql prints, without heads. */
    sql: (text: string, database = "postgres") => psql(["-c", text], { database, role: "postgres" }),
    psql,
    /** Ends the server as a crash does: without a checkpoint, so that the next start has to recover. */
    crash: () => end("SIGQUIT"),
    async start() {
      server = await launch();
    },
    async remove() {
      await end("SIGQUIT");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export type PostgresServer = Awaited<ReturnType<typeof startPostgres>>;
