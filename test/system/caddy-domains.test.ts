/** The shipped Caddyfile, run by Caddy with an authority of its own: the domains file decides who gets a certificate. */
import { once } from "node:events";
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { createCommandLine } from "../support/command-line.ts";
import { freePort } from "../support/free-port.ts";
import { startProgram } from "./program-process.ts";
import { CADDY, configureCaddy } from "./proxies.ts";

const { program = "", run, ready } = CADDY;
const cli = createCommandLine();
const inFolder = (name: string) => join(cli.directory, name);
const ports = { service: 0, http: 0, https: 0, metrics: 0 };
let stopCaddy: () => unknown = () => {};
afterAll(() => {
  stopCaddy();
  cli[Symbol.dispose]();
});

async function startCaddy(): Promise<void> {
  ({ stop: stopCaddy } = await startProgram(program, run, {
    cwd: cli.directory,
    ready,
    env: { HOME: cli.directory },
  }));
}

/** Writes the domains file as the documents say: beside it, then renamed. */
function writeDomains(mapping: string): void {
  writeFileSync(inFolder("domains.yaml.new"), `domains: ${mapping}\n`);
  renameSync(inFolder("domains.yaml.new"), inFolder("domains.yaml"));
}

/** The response that a visitor of a host gets, or the alert with which Caddy refuses the connection. */
async function visit(host: string): Promise<string> {
  const sent = request({
    host: "127.0.0.1",
    port: ports.https,
    servername: host,
    ca: readFileSync(inFolder("caddy/pki/authorities/local/root.crt")),
    agent: false,
    path: "/v1/store/orders?a=1",
    headers: { host },
  }).end();
  try {
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    response.resume();
    // HTTP/3 would accept early data, which can be replayed.
    if (response.headers["alt-svc"] !== undefined) return `offers ${response.headers["alt-svc"]}`;
    return `${response.statusCode} ${response.headers.location ?? ""}`.trim();
  } catch (error) {
    return /tlsv1 alert [a-z ]+/.exec(String(error))?.[0] ?? String(error);
  }
}

const NO_CERTIFICATE = "tlsv1 alert internal error";

test.skipIf(program === "")(
  "a host gets a certificate while it is in the domains file, and is served at once and until it is removed",
  async () => {
    for (const name of ["service", "http", "https", "metrics"] as const) ports[name] = await freePort();
    configureCaddy(cli.directory, ports, "on_demand");
    writeDomains("{ primary: orders.example.com }");
    const listen = ["--port", `${ports.service}`, "--metrics", `${ports.metrics}`];
    const flags = ["--trust-proxy", "--plan", "pro", "--domains", "domains.yaml", ...listen];
    await cli.serve(flags, { pattern: /^metrics.*\n/m });
    await startCaddy();

    expect(await visit("orders.example.com")).toBe("401");
    expect(await visit("api.example.com")).toBe(NO_CERTIFICATE);
    expect(await visit("www.example.com")).toBe(NO_CERTIFICATE);

    writeDomains(
      "{ primary: orders.example.com, aliases: [api.example.com], redirects: [{ from: www.example.com, to: orders.example.com }] }",
    );
    expect(await visit("api.example.com")).toBe("401");
    expect(await visit("www.example.com")).toBe("301 https://orders.example.com/v1/store/orders?a=1");
    expect(await visit("other.example.com")).toBe(NO_CERTIFICATE);

    writeDomains("{ primary: orders.example.com }");
    // Caddy still has the certificates, but nothing is served.
    expect(await visit("api.example.com")).toBe("421");
    expect(await visit("www.example.com")).toBe("421");
    expect(await visit("orders.example.com")).toBe("401");

    // None is issued again.
    stopCaddy();
    rmSync(inFolder("caddy/certificates"), { recursive: true });
    await startCaddy();
    expect(await visit("api.example.com")).toBe(NO_CERTIFICATE);
    expect(await visit("orders.example.com")).toBe("401");
  },
);
