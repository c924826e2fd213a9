/** The proxy configurations that ship, run by the real programs with a certificate, free ports and a live service. */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freePort, startProgram } from "./program-process.ts";
import { cli, HOST, ORDERS, open, send, startService, useProxiedService } from "./proxied-service.ts";
import { CADDY, NGINX } from "./proxies.ts";

useProxiedService();

describe.each([NGINX, CADDY])("$name", ({ program = "", order, validate, run, ready, configure }) => {
  const ports = { service: 0, http: 0, https: 0 };
  const stops: (() => unknown)[] = [];
  let service: Awaited<ReturnType<typeof startService>>;

  beforeAll(async () => {
    if (program === "") return;
    for (const name of ["service", "http", "https"] as const) ports[name] = await freePort();
    configure(cli.directory, ports);
    await promisify(execFile)(program, validate, { cwd: cli.directory });
    service = await startService(ports.service);
    const env = { HOME: cli.directory };
    stops.push((await startProgram(program, run, { cwd: cli.directory, ready, env })).stop);
  });
  afterAll(() => Promise.all(stops.map((stop) => stop())));

  test.skipIf(program === "")(
    "the proxy passes requests and responses on, over TLS, with the path as sent",
    async () => {
      const { status, headers } = await send(ports.https, {
        method: "DELETE",
        path: `/v1/store/orders/${order}`,
      });
      expect(status).toBe(204);
      expect(headers).toMatchObject({
        "x-ratelimit-limit": "1000",
        "strict-transport-security": "max-age=31536000",
        "x-request-id": expect.stringMatching(/^[0-9a-f-]{36}$/),
      });
      const missing = await send(ports.https, { path: "/v1//store/orders" });
      expect({ ...missing, text: JSON.parse(missing.text) }).toMatchObject({
        status: 404,
        text: { code: "route_not_found", status: 404 },
      });
      const ambiguous = await send(ports.https, { path: "/v1/pets/../store/orders" });
      expect(JSON.parse(ambiguous.text)).toMatchObject({ code: "bad_request", status: 400 });
      expect((await send(ports.https, { path: "/docs" })).text).toContain("<title>Store Orders API</title>");
      await expect
        .poll(() => service.entries().find(({ path }) => path !== undefined))
        .toMatchObject({ path: `/v1/store/orders/${decodeURIComponent(order)}`, status: 204 });
    },
  );

  test.skipIf(program === "")(
    "the proxy passes the address of the caller on, and none that the caller invents",
    async () => {
      await send(ports.https, {
        path: "/v1/pets/1",
        headers: { "x-forwarded-for": "203.0.113.9" },
        localAddress: "127.0.0.2",
      });
      // The line is written after the response.
      await expect
        .poll(() => service.entries().at(-1))
        .toMatchObject({ path: "/v1/pets/1", address: "127.0.0.2" });
    },
  );

  test.skipIf(program === "")("the proxy streams the list: it is not read ahead of the client", async () => {
    const response = await open(ports.https, { path: "/v1/store/orders" });
    await once(response, "readable");
    await sleep(1_000);
    const isList = ({ operation }: { operation?: string }) => operation === "listOrders";
    expect(service.entries().filter(isList)).toEqual([]);
    const text = (await buffer(response)).toString();
    expect(text.match(/"id":/g)).toHaveLength(ORDERS);
    await expect.poll(() => service.entries().filter(isList)).toMatchObject([{ bodyEnd: "complete" }]);
  });

  test.skipIf(program === "")("the proxy redirects to HTTPS", async () => {
    const response = await fetch(`http://127.0.0.1:${ports.http}/v1/store/orders?a=b`, {
      redirect: "manual",
      headers: { host: HOST },
    });
    expect(response.status).toBeGreaterThanOrEqual(301);
    expect(response.status).toBeLessThanOrEqual(308);
  });

  test.skipIf(program === "")(
    "the proxy sends the Error body with Retry-After while the service is stopped",
    async () => {
      await service.stop();
      const { status, headers, text } = await send(ports.https, { path: "/v1/store/orders" });
      expect({ status, retry: headers["retry-after"], type: headers["content-type"] }).toEqual({
        status: 503,
        retry: "5",
        type: "application/json",
      });
      expect(JSON.parse(text)).toEqual({
        code: "store_unavailable",
        message: "The store cannot be reached. Try again later.",
        status: 503,
      });
    },
  );
});
