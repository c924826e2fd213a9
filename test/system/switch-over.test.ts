/** A shop that runs already moves to `serve`, behind its own nginx and with the keys that its customers have. */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { Agent, request } from "node:https";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTestAuthority } from "../support/certificates.ts";
import { createCommandLine, useCommandLine } from "../support/command-line.ts";
import { freePort } from "../support/free-port.ts";
import { type PostgresServer, skipsWithoutPostgres, startPostgres } from "../support/postgres/server.ts";
import { skipsBecause } from "../support/skip-reason.ts";
import { startProgram } from "./program-process.ts";
import { HOST, NGINX } from "./proxies.ts";

const CUSTOMERS = Array.from({ length: 30 }, (_, index) => ({
  id: `c${index}`,
  key: `sk_live_${createHash("md5").update(`${index}`).digest("hex")}`,
}));
/** The pause of a customer between two calls. */
const PAUSE_MS = 250;
const PLANS = "small: { perMinute: 60, perDay: 100000 }\nlarge: { perMinute: 6000, perDay: 100000 }\n";
const sha256 = (key: string) => createHash("sha256").update(key).digest("hex");

const noNginx =
  NGINX.program === undefined && "there is no nginx; install it with: apt-get install nginx-light";
const skipped =
  skipsWithoutPostgres("the switch-over of a shop") ||
  skipsBecause("the switch-over of a shop", noNginx || undefined);

describe.skipIf(skipped)("thirty customers whose keys are in a table of the shop", () => {
  const cli = useCommandLine();
  const servers = createCommandLine();
  const authority = createTestAuthority();
  let postgres: PostgresServer;
  let shop: Awaited<ReturnType<typeof startShop>>;

  beforeAll(async () => {
    postgres = await startPostgres();
    await postgres.sql(`CREATE DATABASE shop`);
    shop = await startShop(postgres.url("shop"));
    const { cert, key } = authority.issue([HOST]);
    writeFileSync(join(cli.directory, "fullchain.pem"), cert);
    writeFileSync(join(cli.directory, "privkey.pem"), key);
    writeFileSync(join(cli.directory, "plans.yaml"), PLANS);
  });
  const running: (() => unknown)[] = [];
  afterAll(async () => {
    for (const stop of running) await stop();
    await shop?.stop();
    await postgres?.remove();
    servers[Symbol.dispose]();
  });

  test("move without one failed call: reported first, then enforced, then with keys of ours", {
    timeout: 300_000,
  }, async () => {
    const options = {
      env: {
        STORE_ORDERS_ENVIRONMENT: "live",
        STORE_ORDERS_POSTGRES: postgres.url("shop"),
        STORE_ORDERS_PLANS: join(cli.directory, "plans.yaml"),
      },
    };
    const run = async (...args: string[]) => {
      const result = await cli.run([...args, "--json"], options);
      expect(result, args.join(" ")).toMatchObject({ status: 0 });
      return JSON.parse(result.stdout.trim().split("\n").at(-1) ?? "null");
    };
    const nginx = await startNginx(shop.port);
    const traffic = startTraffic(nginx.port, authority.cert);
    running.push(traffic.stop, nginx.stop);
    await traffic.settled("the old shop");

    // What the shop has is copied while it serves: accounts, keys by their hashes, orders.
    for (const { id } of CUSTOMERS)
      await run("accounts", "create", id, "--plan", id === "c0" ? "small" : "large");
    const csv = await copy("SELECT hash, customer AS account, label AS name FROM shop_keys", "CSV HEADER");
    writeFileSync(join(cli.directory, "keys.csv"), csv);
    expect(await run("keys", "import", "keys.csv")).toMatchObject({ imported: 30, rejected: 0 });
    writeFileSync(
      join(cli.directory, "orders.ndjson"),
      await copy("SELECT row_to_json(o) FROM shop_orders o", ""),
    );
    expect(await run("orders", "import", "orders.ndjson")).toMatchObject({ placed: 20, rejected: 0 });

    // A week that only reports, in small.
    const serve = ["--key-header", "X-API-Key", "--trust-proxy"];
    const reporting = await servers.serve([...serve, "--report-only", "--port", "0"], options);
    let log = "";
    reporting.child.stderr.on("data", (data) => {
      log += data;
    });
    await nginx.switchTo(Number(new URL(reporting.url).port));
    await traffic.settled("report only");
    // One customer calls more often than its new plan allows.
    for (let call = 0; call < 80; call++)
      await traffic.call("GET", "/v1/store/orders", CUSTOMERS[0]?.key ?? "");
    await expect.poll(() => log).toContain('"wouldReject":"rate_limit_exceeded"');
    const reported = log
      .split("\n")
      .filter((line) => line.includes("wouldReject"))
      .map((line) => JSON.parse(line).accountId);
    expect(new Set(reported)).toEqual(new Set(["c0"]));
    await run("accounts", "set-plan", "c0", "--plan", "large");

    const enforcing = await servers.serve([...serve, "--port", "0"], options);
    await nginx.switchTo(Number(new URL(enforcing.url).port));
    await traffic.settled("enforced");
    expect((await reporting.stop()).status).toBe(0);

    // Keys are replaced one by one, by their customers.
    for (const customer of CUSTOMERS.slice(1, 6)) {
      const [old] = await run("keys", "list", "--account", customer.id);
      const { key } = await run("keys", "rotate", old.keyId, "--overlap", "1h");
      expect((await traffic.call("GET", "/v1/store/orders", customer.key)).status).toBe(200);
      await traffic.replaceKey(customer.id, key);
      await run("keys", "revoke", old.keyId);
      expect((await traffic.call("GET", "/v1/store/orders", customer.key)).status).toBe(401);
    }
    await traffic.settled("rotated");
    const { calls, failures } = await traffic.stop();
    expect(failures).toEqual([]);
    expect(calls).toBeGreaterThan(500);
    expect((await enforcing.stop()).status).toBe(0);
    nginx.stop();
  });

  const copy = (query: string, format: string) =>
    postgres.psql(["-Atqc", `COPY (${query}) TO STDOUT ${format}`], { database: "shop", role: "postgres" });

  /** nginx with the shipped configuration, in front of a service on a port that can change. */
  async function startNginx(service: number) {
    const ports = { http: await freePort(), https: await freePort() };
    NGINX.configure(cli.directory, { ...ports, service });
    const program = await startProgram(NGINX.program as string, NGINX.run, {
      cwd: cli.directory,
      ready: NGINX.ready,
    });
    return {
      port: ports.https,
      stop: program.stop,
      async switchTo(port: number) {
        NGINX.configure(cli.directory, { ...ports, service: port });
        process.kill(Number(readFileSync(join(cli.directory, "nginx.pid"), "utf8")), "SIGHUP");
        await sleep(500);
      },
    };
  }
});

/** The shop as it was: keys by their SHA-256 in a table of its own, and the two operations. */
async function startShop(url: string) {
  const pool = new pg.Pool({ connectionString: url, max: 4 });
  await pool.query(`CREATE TABLE shop_keys (hash text PRIMARY KEY, customer text NOT NULL, label text);
    CREATE TABLE shop_orders (id bigint PRIMARY KEY, "petId" bigint, quantity integer, status text NOT NULL)`);
  for (const { id, key } of CUSTOMERS)
    await pool.query("INSERT INTO shop_keys VALUES ($1, $2, $3)", [sha256(key), id, `${key.slice(0, 12)}…`]);
  await pool.query(`INSERT INTO shop_orders SELECT n, 7, 1, 'pending' FROM generate_series(1, 20) n`);
  const server = createServer(async (incoming, response) => {
    const hash = sha256(`${incoming.headers["x-api-key"]}`);
    const { rows: keys } = await pool.query("SELECT customer FROM shop_keys WHERE hash = $1", [hash]);
    if (keys.length === 0) return void response.writeHead(401).end();
    const { rows } = await pool.query(`SELECT id, "petId", quantity FROM shop_orders ORDER BY id`);
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(rows));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as { port: number }).port,
    async stop() {
      server.close();
      await pool.end();
    },
  };
}

/** Customers who call all the time, each on a connection of its own for each call. */
function startTraffic(port: number, ca: string) {
  const agent = new Agent({ ca, keepAlive: false });
  const failures: string[] = [];
  const headersOf = new Map(
    CUSTOMERS.map(({ id, key }) => [id, { "x-api-key": key } as Record<string, string>]),
  );
  let [calls, phase, stopped] = [0, "before", false];

  async function send(method: string, path: string, headers: Record<string, string>) {
    const sent = request({
      host: "127.0.0.1",
      port,
      // Customers have addresses of their own.
      localAddress: `127.0.0.${2 + (Number.parseInt(createHash("md5").update(JSON.stringify(headers)).digest("hex").slice(0, 4), 16) % 250)}`,
      servername: HOST,
      agent,
      method,
      path,
      headers: { host: HOST, ...headers },
    });
    sent.end();
    const [response] = await once(sent, "response");
    await text(response);
    return { status: response.statusCode as number };
  }

  const customers = CUSTOMERS.map(async ({ id }, index) => {
    await sleep((index * PAUSE_MS) / CUSTOMERS.length);
    while (!stopped) {
      const failure = await send("GET", "/v1/store/orders", headersOf.get(id) ?? {}).then(
        ({ status }) => (status === 200 ? undefined : `${status}`),
        (error) => `${error}`,
      );
      calls += 1;
      if (failure !== undefined) failures.push(`${phase}, ${id}: ${failure}`);
      await sleep(PAUSE_MS);
    }
  });

  return {
    call: (method: string, path: string, key: string) => send(method, path, { "x-api-key": key }),
    /** Waits until every customer has called several times in a phase. */
    async settled(name: string) {
      phase = name;
      const until = calls + CUSTOMERS.length * 5;
      while (calls < until) await sleep(50);
    },
    /** From now on the customer sends the key that we have issued. Its call that may be under way ends first. */
    async replaceKey(id: string, key: string) {
      headersOf.set(id, { authorization: `Bearer ${key}` });
      const until = calls + CUSTOMERS.length * 2;
      while (calls < until) await sleep(50);
    },
    async stop() {
      stopped = true;
      await Promise.all(customers);
      return { calls, failures };
    },
  };
}
