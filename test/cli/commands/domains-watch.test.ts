import { createSocket } from "node:dgram";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ProcessIo, runProgram } from "../../../lib/cli/program.ts";
import { createTestAuthority } from "../../support/certificates.ts";
import { useCommandLine } from "../../support/command-line.ts";
import { startDnsServer } from "../../support/dns-server.ts";
import { startTlsServer, type TlsServer } from "../../support/tls-server.ts";

const cli = useCommandLine();
const authority = createTestAuthority();
const TARGET = "abc.platform.example";
const ZONE = `${TARGET} A 127.0.0.1\norders.example.com CNAME ${TARGET}\nwww.example.com CNAME ${TARGET}`;
let tls: TlsServer;

beforeAll(async () => {
  const hosts = ["orders.example.com", "www.example.com"];
  tls = await startTlsServer(Object.fromEntries(hosts.map((host) => [host, authority.issue([host])])));
  const domains = {
    primary: "orders.example.com",
    redirects: [{ from: "www.example.com", to: "orders.example.com" }],
  };
  writeFileSync(join(cli.directory, "domains.json"), JSON.stringify({ domains }));
});
afterAll(() => tls[Symbol.asyncDispose]());

const watch = (address: string, ...rest: readonly string[]) => [
  ...["domains", "watch", "domains.json", "--target", TARGET],
  ...["--resolver", address, "--tls-port", `${tls.port}`, ...rest],
];

/** Runs a command in this process, which trusts the authority meanwhile. */
async function runTrusting(...command: Parameters<typeof cli.run>) {
  const known = getCACertificates("default");
  setDefaultCACertificates([...known, authority.cert]);
  try {
    return await cli.run(...command);
  } finally {
    setDefaultCACertificates(known);
  }
}

test("domains watch prints one line per change, and exits with 0 once every host is live", async () => {
  await using server = await startDnsServer(ZONE);
  const { status, stdout, stderr } = await runTrusting(watch(server.address));
  expect([status, stderr]).toEqual([0, ""]);
  const words = stdout
    .trim()
    .split("\n")
    .map((line) => line.split("  ").slice(1, 3).join(" "));
  expect(words).toEqual(["orders.example.com live", "www.example.com live"]);
});

test("domains watch exits with 1 if a host needs attention, and reads a stack's outputs", async () => {
  const outputOf = (role: string, name: string, value: string) => ({
    ...{ role, state: "live", record: { type: "CNAME", name, ttl: 3600, value } },
  });
  const outputs = {
    "orders.example.com": outputOf("primary", "orders", TARGET),
    "www.example.com": outputOf("redirect", "www", "d-b.platform.example"),
  };
  const forbidding = `d-b.platform.example A 127.0.0.1\nd-b.platform.example CAA 0 issue "letsencrypt.org"`;
  await using server = await startDnsServer(
    `${ZONE.replace(/www.*/, "www.example.com CNAME d-b.platform.example")}\n${forbidding}`,
  );
  await using others = await startTlsServer({
    "orders.example.com": authority.issue(["orders.example.com"]),
    "*": authority.issue(["*.platform.example"]),
  });
  const { status, stdout } = await runTrusting(
    [
      "domains",
      "watch",
      "--stack",
      "-",
      "--resolver",
      server.address,
      "--tls-port",
      `${others.port}`,
      "--json",
    ],
    { input: JSON.stringify(outputs) },
  );
  expect(status).toBe(1);
  const changes = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(changes.at(-1)).toMatchObject({
    host: "www.example.com",
    state: "needs_attention",
    attention: "certificate_forbidden",
    todo: [
      expect.stringContaining("Ask its operator"),
      expect.any(String),
      expect.any(String),
      expect.any(String),
    ],
  });
});

/** Runs the watch in this process, where nothing waits for the next observation. */
async function watchHere(
  address: string,
  { stdout = new PassThrough(), ...io }: Pick<ProcessIo, "wait" | "waitForStop"> & { stdout?: PassThrough },
) {
  const [stdin, stderr] = [new PassThrough(), new PassThrough()];
  const argv = watch(address).with(2, join(cli.directory, "domains.json"));
  const status = await runProgram({ argv, env: {}, stdin, stdout, stderr, ...io });
  return { status, stdout: `${stdout.read() ?? ""}`, stderr: `${stderr.read() ?? ""}` };
}

test("a domains watch goes on after each pause, until it is stopped in one", async () => {
  const { promise: stopped, resolve: stop } = Promise.withResolvers<string>();
  await using server = await startDnsServer(ZONE.replace(`www.example.com CNAME ${TARGET}`, ""));
  const pauses = [() => server.update(ZONE), () => stop("SIGINT")];
  const { status, stdout, stderr } = await watchHere(server.address, {
    async wait(ms) {
      expect(ms).toBe(30_000);
      pauses.shift()?.();
    },
    waitForStop: () => stopped,
  });
  expect(stdout.match(/www\.example\.com {2}\w+/g)).toEqual([
    "www.example.com  pending_dns",
    "www.example.com  certificate_pending",
  ]);
  expect([status, stderr]).toEqual([1, "Stopped before every host was live.\n"]);
});

test("a domains watch stops during an observation that does not return", async () => {
  const silent = createSocket("udp4");
  await new Promise<void>((resolve) => silent.bind(0, "127.0.0.1", resolve));
  const result = await watchHere(`127.0.0.1:${silent.address().port}`, {
    wait: () => Promise.reject(new Error("The watch pauses.")),
    waitForStop: () => once(silent, "message").then(() => "SIGINT"),
  });
  silent.close();
  expect(result).toEqual({ status: 1, stdout: "", stderr: "Stopped before every host was live.\n" });
});

test("a domains watch ends when nobody reads its lines any more", async () => {
  await using server = await startDnsServer(ZONE.replace(`www.example.com CNAME ${TARGET}`, ""));
  const result = await watchHere(server.address, {
    stdout: new PassThrough().destroy(),
    wait: () => Promise.reject(new Error("The watch pauses.")),
    waitForStop: () => new Promise(() => {}),
  });
  expect(result).toMatchObject({ status: 1, stderr: "Stopped before every host was live.\n" });
});
