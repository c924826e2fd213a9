import { createServer } from "node:http";
import { expect, onTestFinished, test, vi } from "vitest";
import { createCommandLine, useCommandLine } from "../../support/command-line.ts";
import { freePort, listenOn } from "../../support/free-port.ts";

const cli = useCommandLine();

test.each([
  ["127.0.0.1", []],
  ["0.0.0.0", ["--base-path", "/shop"]],
  ["[::1]", []],
])("health asks the server that listens on %s with %j", async (host, basePath) => {
  const env = { HOST: host, PORT: `${await freePort()}` };
  const check = ["health", ...basePath, "--json"];
  const before = await cli.run(check, { env });
  expect([before.status, before.stderr]).toEqual([
    1,
    expect.stringMatching(/unhealthy.*Check that 'serve' runs/),
  ]);
  const { stop } = await cli.serve(["--port", env.PORT, "--database", "health.db", ...basePath], { env });
  const { status, stdout } = await cli.run(check, { env });
  const healthy = { url: expect.stringContaining("/healthz"), status: 200 };
  expect([status, JSON.parse(stdout)]).toEqual([0, healthy]);
  expect((await cli.run(["health", "--base-path", "/other"], { env })).status).toBe(1);
  await stop();
});

test("health uses no proxy of the environment", async () => {
  using ownProcess = createCommandLine();
  const { url, stop } = await cli.serve(["--database", "health.db"]);
  // Node reads them when a process starts.
  const proxy = ["HTTP_PROXY", "http_proxy"].map((name) => [name, "http://127.0.0.1:9"]);
  const env = { NODE_USE_ENV_PROXY: "1", ...Object.fromEntries(proxy), PORT: new URL(url).port };
  expect((await ownProcess.run(["health", "--host", "localhost"], { env })).status).toBe(0);
  await stop();
});

test("a server that accepts connections and does not answer is unhealthy after four seconds", async () => {
  const limit = new AbortController();
  const timeout = vi.spyOn(AbortSignal, "timeout").mockReturnValue(limit.signal);
  onTestFinished(() => timeout.mockRestore());
  const server = createServer(() => limit.abort());
  const port = await listenOn(server);
  const { status } = await cli.run(["health", "--port", `${port}`]);
  expect([status, timeout.mock.calls]).toEqual([1, [[4_000]]]);
  server.close().closeAllConnections();
});

test("a port that was chosen by the server has to be named", async () => {
  const { status, stderr } = await cli.run(["health"], { env: { PORT: "0" } });
  expect([status, stderr]).toEqual([2, expect.stringContaining("--port or PORT: Give the port")]);
});

test("a host with the name of a property that every object has is asked like any other", async () => {
  const { status, stderr } = await cli.run(["health", "--host", "constructor", "--json"]);
  expect([status, JSON.parse(stderr).code]).toEqual([1, "unhealthy"]);
});
