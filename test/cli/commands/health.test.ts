import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, expect, test } from "vitest";
import { createCommandLine, createCommandLineHere } from "../../support/command-line.ts";
import { freePort } from "../../support/free-port.ts";

const cli = createCommandLineHere();
/** Node reads the variables of a proxy when a process starts. */
const ownProcess = createCommandLine();
afterAll(() => {
  for (const each of [cli, ownProcess]) each[Symbol.dispose]();
});
const PROXY = { NODE_USE_ENV_PROXY: "1", HTTP_PROXY: "http://127.0.0.1:9", http_proxy: "http://127.0.0.1:9" };

test.each([
  ["127.0.0.1", [], {}],
  ["0.0.0.0", ["--base-path", "/shop"], {}],
  ["[::1]", [], {}],
  ["localhost", [], PROXY],
])("health asks the server that listens on %s with %j", async (host, basePath, more) => {
  const env = { HOST: host, PORT: `${await freePort()}`, ...more };
  const { run } = more === PROXY ? ownProcess : cli;
  const check = ["health", ...basePath, "--json"];
  const before = await run(check, { env });
  expect([before.status, JSON.parse(before.stderr).code]).toEqual([1, "unhealthy"]);
  const { stop } = await cli.serve(["--port", env.PORT, "--database", "health.db", ...basePath], { env });
  const { status, stdout } = await run(check, { env });
  expect([status, JSON.parse(stdout)]).toEqual([
    0,
    { url: expect.stringContaining("/healthz"), status: 200 },
  ]);
  expect((await run(["health", "--base-path", "/other"], { env })).status).toBe(1);
  await stop();
});

test("a server that accepts connections and does not answer is unhealthy within five seconds", async () => {
  const server = createServer(() => {}).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  const { status } = await cli.run(["health", "--port", `${port}`]);
  expect(status).toBe(1);
  server.close().closeAllConnections();
}, 15_000);

test("a port that was chosen by the server has to be named", async () => {
  const { status, stderr } = await cli.run(["health"], { env: { PORT: "0" } });
  expect([status, stderr]).toEqual([2, expect.stringContaining("--port or PORT: Give the port")]);
});

test("a host with the name of a property that every object has is asked like any other", async () => {
  const { status, stderr } = await cli.run(["health", "--host", "constructor", "--json"]);
  expect([status, JSON.parse(stderr).code]).toEqual([1, "unhealthy"]);
});
