import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createSqliteStore } from "../../../lib/stores/sqlite/index.ts";
import {
  baseEnvironment,
  createCommandLine,
  waitForExit,
  waitForOutput,
} from "../../support/command-line.ts";
import { noPosix, skipsBecause } from "../../support/skip-reason.ts";

const cli = createCommandLine();
afterAll(() => cli[Symbol.dispose]());
const root = fileURLToPath(new URL("../../..", import.meta.url));

describe("a signal", () => {
  /** The list has 11 MB: more than the buffers of a connection hold while its client does not read. */
  const ORDERS = 150_000;
  let key = "";
  beforeAll(async () => {
    const store = createSqliteStore({ path: join(cli.directory, "long.db") });
    const orders = Array.from({ length: ORDERS }, (_, id) => ({
      record: { id: BigInt(id), petId: 9_007_199_254_740_993n, quantity: 1 },
      status: "pending" as const,
    }));
    await store.orders.place(orders);
    await store.close();
    const database = ["--database", "long.db"];
    await cli.json("accounts", "create", "acme", "--plan", "pro", ...database);
    ({ key } = await cli.json<{ key: string }>("keys", "issue", "--account", "acme", ...database));
  });

  test.each(["SIGTERM", "SIGINT", "SIGHUP"] as const)(
    "%s completes the request in flight, accepts no new one, and exits with 0",
    async (signal) => {
      const server = cli.spawn(["serve", "--port", "0", "--database", "long.db"]);
      const [, url = ""] = /(http:\S+)\/v1/.exec(await waitForOutput(server, /^database.*\n/m)) ?? [];
      const exit = waitForExit(server);
      const { hostname, port } = new URL(url);
      const socket = connect(Number(port), hostname);
      socket.write(`GET /v1/store/orders HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`);
      await once(socket, "readable");
      server.kill(signal);
      await sleep(200);
      await expect(fetch(`${url}/v1/store/orders`)).rejects.toThrow();

      let response = "";
      for await (const chunk of socket) response += chunk;
      const body = response.slice(response.indexOf("\r\n\r\n"));
      expect(body.match(/"id":/g)?.length).toBe(ORDERS);
      expect(body.trimEnd().endsWith("\r\n0")).toBe(true);
      const { status, stderr } = await exit;
      expect(status).toBe(0);
      const lines = stderr.trimEnd().split("\n");
      expect(lines).toHaveLength(3);
      expect(JSON.parse(lines[1] ?? "")).toMatchObject({ status: 200, bodyEnd: "complete" });
    },
  );

  test("SIGTERM ends the server with 0 while nothing reads its log", async () => {
    const server = cli.spawn(["serve", "--port", "0", "--database", "stalled.db"]);
    const [, url = ""] = /(http:\S+)\/v1/.exec(await waitForOutput(server, /^database.*\n/m)) ?? [];
    // More log lines than the pipe of standard error holds.
    for (let batch = 0; batch < 40; batch++) {
      const requests = Array.from({ length: 50 }, () => fetch(`${url}/${"x".repeat(500)}`));
      for (const response of await Promise.all(requests)) await response.text();
    }
    const exit = once(server, "exit", { signal: AbortSignal.timeout(8_000) });
    server.kill("SIGTERM");
    expect(await exit).toEqual([0, null]);
    server.stderr.resume();
  });
});

test.skipIf(skipsBecause("a signal to npm stops the server", noPosix))(
  "npm start accepts arguments, and a signal to npm stops the server",
  async () => {
    const args = ["start", "--", "--port", "0", "--database", join(cli.directory, "npm.db")];
    const npm = spawn("npm", args, { cwd: root, env: baseEnvironment() });
    const message = await waitForOutput(npm, /^try.*\n/m);
    const [, url = ""] = /(http:\S+)\/v1/.exec(message) ?? [];
    expect((await fetch(`${url}/v1/store/orders`)).status).toBe(401);
    npm.kill("SIGTERM");
    await expect
      .poll(
        () =>
          fetch(`${url}/v1/store/orders`).then(
            () => "serving",
            () => "stopped",
          ),
        { timeout: 5_000 },
      )
      .toBe("stopped");
  },
);
