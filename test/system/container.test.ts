/** There is no container engine here, so the instructions of the Dockerfile are run one by one, in a folder. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
} from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { waitForOutput } from "../support/command-line.ts";
import { freeTcpPort } from "../support/postgres/server.ts";
import { ROOT } from "./installed.ts";

const deploy = join(ROOT, "lib/node/deploy");
const instructions = readFileSync(join(deploy, "Dockerfile"), "utf8")
  .replaceAll(/^#.*\n/gm, "")
  .replaceAll(/\s*\\\n\s*/g, " ")
  .split("\n");
const instruction = (name: string) =>
  instructions.filter((line) => line.startsWith(`${name} `)).map((line) => line.slice(name.length + 1));

/** The user `node` of the image. Only root can become another user. */
const NOBODY = process.getuid?.() === 0 ? 65_534 : undefined;
let folder = "";
/** Replaces the paths of the image by those of the folder. */
const here = (text: string) =>
  text.replaceAll(/(?<![\w.])\/(src|tmp|opt|data)\b/g, (path) => `${folder}${path}`);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "store-orders-container-"));
  chmodSync(folder, 0o755);
  for (const name of ["tmp", "bin"]) mkdirSync(join(folder, name));
  // The Node of this project may be in a folder that another user cannot read.
  copyFileSync(process.execPath, join(folder, "bin/node"));
  const included = readFileSync(join(deploy, "Dockerfile.dockerignore"), "utf8").matchAll(/^!(.+)$/gm);
  for (const [, name = ""] of included) {
    const filter = (path: string) => !path.includes("node_modules");
    cpSync(join(ROOT, name), join(folder, "src", name), { recursive: true, filter });
  }
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test("each RUN instruction succeeds with the files that the ignore file leaves", async () => {
  const PATH = `${dirname(process.execPath)}${delimiter}${process.env["PATH"]}`;
  const commands = instruction("RUN");
  expect(commands).toHaveLength(5);
  for (const command of commands) {
    if (command.startsWith("npm ci")) {
      // Every run of the tests begins with this command.
      symlinkSync(join(ROOT, "node_modules"), join(folder, "src/node_modules"));
      continue;
    }
    const runnable = here(command).replace(" --owner=node --group=node", "");
    await promisify(execFile)("sh", ["-ec", runnable], {
      cwd: join(folder, "src"),
      env: { ...process.env, PATH },
    });
  }
  if (NOBODY !== undefined) chownSync(join(folder, "data"), NOBODY, NOBODY);
}, 120_000);

test("as a user without rights, the command serves the page and passes the health check, and writes to /data only", async () => {
  const port = await freeTcpPort();
  const variables = [
    ...instruction("ENV")
      .join(" ")
      .matchAll(/(\w+)=("[^"]*"|\S+)/g),
  ];
  const environment = Object.fromEntries(
    variables.map(([, name = "", value = ""]) => [name, here(value.replaceAll('"', ""))]),
  );
  const options = {
    cwd: here(instruction("WORKDIR").at(-1) ?? ""),
    env: {
      ...environment,
      PATH: (environment["PATH"] ?? "").replace("$PATH", join(folder, "bin")),
      PORT: `${port}`,
      HOST: "127.0.0.1",
    },
    ...(NOBODY === undefined ? {} : { uid: NOBODY, gid: NOBODY }),
  };
  expect(environment).toMatchObject({ HOST: "0.0.0.0", STORE_ORDERS_ENVIRONMENT: "live" });
  expect(instruction("USER")).toEqual(["node"]);
  const [program = "", ...args] = JSON.parse(instruction("CMD")[0] ?? "");
  const server = spawn(join(folder, "opt/store-orders/node_modules/.bin", program), args, options);
  const output: string[] = [];
  for (const stream of [server.stdout, server.stderr]) stream.on("data", (part) => output.push(`${part}`));
  try {
    await waitForOutput(server, /"database":.*\n/);
    const page = await fetch(`http://127.0.0.1:${port}/docs`);
    expect(await page.text()).toContain("swagger-ui-bundle.js");

    const [, probe = "[]"] = /CMD (\[.*\])$/.exec(instruction("HEALTHCHECK")[0] ?? "") ?? [];
    const check = JSON.parse(probe.replace("8787", `${port}`)) as string[];
    expect(check[0]).toBe("node");
    await promisify(execFile)(join(folder, "bin/node"), check.slice(1), options);
    server.kill("SIGTERM");
    const [status] = await once(server, "close");
    expect(status).toBe(0);
    const lines = output.join("").trimEnd().split("\n");
    expect(lines.length).toBeGreaterThan(3);
    expect(lines.filter((line) => !isJson(line))).toEqual([]);
    await expect(promisify(execFile)(join(folder, "bin/node"), check.slice(1), options)).rejects.toThrow();
  } finally {
    server.kill("SIGKILL");
  }
  expect(readdirSync(join(folder, "data"))).toEqual(["store-orders.db"]);
});

function isJson(line: string): boolean {
  try {
    return typeof JSON.parse(line) === "object";
  } catch {
    return false;
  }
}
