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
import { freePort } from "../support/free-port.ts";
import { ROOT } from "./installed.ts";

const deploy = join(ROOT, "lib/node/deploy");
const instructions = readFileSync(join(deploy, "Dockerfile"), "utf8")
  .replaceAll(/^#.*\n/gm, "")
  .replaceAll(/\s*\\\n\s*/g, " ")
  .split("\n");
const instruction = (name: string) =>
  instructions.filter((line) => line.startsWith(`${name} `)).map((line) => line.slice(name.length + 1));

/** Any user of the image, such as OpenShift chooses. Only root can become another user. */
const NOBODY = process.getuid?.() === 0 ? 65_534 : undefined;
let folder = "";
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
    const runnable = here(command).replace(" --owner=1000 --group=0", "");
    await promisify(execFile)("sh", ["-ec", runnable], {
      cwd: join(folder, "src"),
      env: { ...process.env, PATH, npm_config_prefer_offline: "true" },
    });
  }
  // Any user of the group 0 can write to it.
  if (NOBODY !== undefined) chownSync(join(folder, "data"), 1_000, 0);
});

test("as a user without rights, the command serves the page and passes the health check, and writes to /data only", async () => {
  const port = await freePort();
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
    ...(NOBODY === undefined ? {} : { uid: NOBODY, gid: 0 }),
  };
  expect(environment).toMatchObject({ HOST: "0.0.0.0", STORE_ORDERS_ENVIRONMENT: "live" });
  expect(instruction("USER")).toEqual(["1000:1000"]);
  const [program = "", ...args] = JSON.parse(instruction("CMD")[0] ?? "");
  const bin = join(folder, "opt/store-orders/node_modules/.bin");
  const server = spawn(join(bin, program), args, options);
  const output: string[] = [];
  for (const stream of [server.stdout, server.stderr]) stream.on("data", (part) => output.push(`${part}`));
  try {
    await waitForOutput(server, /"database":.*\n/);
    const page = await fetch(`http://127.0.0.1:${port}/docs`);
    expect(await page.text()).toContain("swagger-ui-bundle.js");

    const [, probe = "[]"] = /CMD (\[.*\])$/.exec(instruction("HEALTHCHECK")[0] ?? "") ?? [];
    const [checker = "", ...words] = JSON.parse(probe) as string[];
    const check = () => promisify(execFile)(join(bin, checker), words, options);
    await check();
    server.kill("SIGTERM");
    const [status] = await once(server, "close");
    expect(status).toBe(0);
    const lines = output.join("").trimEnd().split("\n");
    expect(lines.length).toBeGreaterThan(3);
    expect(lines.filter((line) => !isJson(line))).toEqual([]);
    await expect(check()).rejects.toMatchObject({ code: 1 });
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
