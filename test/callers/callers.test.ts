import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { table } from "../documents/markdown.ts";
import { skipsBecause } from "../support/skip-reason.ts";
import { type Behaviour, behaviourOf, type Hit, SCENARIOS, type Scenario, startService } from "./service.ts";
import { noPython, PYTHON, PYTHON_NIQUESTS } from "./setup.ts";

const PAGE = "lib/client/retries.md";
const { rows } = table(PAGE, "client", "repeats", "waits as told");
const here = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const read = (name: string) => readFileSync(here(name), "utf8");

/** The cells of a client, of which the first begins with its name and version. */
const rowOf = (client: string) => {
  const found = rows.filter(([cell = ""]) => cell.replaceAll("`", "") === client);
  expect(found, `rows of ${client}`).toHaveLength(1);
  return found[0] ?? [];
};

/** Seconds are as in the cell: a number, "from to", or none. */
function expectSeconds(cell: string | undefined, seconds: number | undefined): void {
  const numbers = [...(cell ?? "").matchAll(/\d+(?:\.\d+)?/g)].map(Number);
  if (seconds === undefined || numbers.length === 0)
    return void expect([cell, seconds]).toEqual([expect.stringMatching(/^(?:–|no)$/), undefined]);
  const [from = 0, to = from] = numbers;
  expect(seconds).toBeGreaterThanOrEqual(0.9 * from);
  expect(seconds).toBeLessThanOrEqual(1.1 * to);
}

function expectRow(client: string, found: Behaviour): void {
  const [, repeats, waits, untold, banned = ""] = rowOf(client);
  expect([found.repeats, found.waits]).toEqual([repeats, waits]);
  expectSeconds(untold, found.untoldSeconds);
  expectSeconds(banned.endsWith("in series") ? banned : "no", found.series);
  expectSeconds(banned.endsWith("at once") ? banned : "no", found.parallel);
}

/** With the last column, a client waits as told or does not repeat, and is not banned. */
function expectFixed({ waits, series, parallel }: Behaviour): void {
  expect(["yes", "–"]).toContain(waits);
  expect([series, parallel]).toEqual([undefined, undefined]);
}

const NPM = {
  ky: "ky 2.1.0",
  got: "got 16.1.0",
  "axios-retry": "axios-retry 4.5.0",
  "undici RetryAgent": "undici 8.12.4 RetryAgent",
  "retry-axios": "retry-axios 4.0.3",
  "@azure/core-rest-pipeline": "@azure/core-rest-pipeline 1.24.0",
  ofetch: "ofetch 1.5.1 retry: 3",
  superagent: "superagent 10.4.2 .retry(3)",
  gaxios: "gaxios 7.3.1 retry: true",
  "make-fetch-happen": "make-fetch-happen 15.0.6",
  "fetch-retry": "fetch-retry 6.0.0 retryOn: [429]",
  wretch: "wretch 3.0.9",
};
const NPM_FIXED = ["undici RetryAgent", "ofetch", "superagent", "gaxios", "make-fetch-happen", "fetch-retry"];

describe("clients of npm", () => {
  const behaviourOfClient = async (name: string): Promise<Behaviour> => {
    const child = spawn(process.execPath, [here("npm-clients.ts"), name], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    return JSON.parse(await text(child.stdout));
  };

  test("are those of the lock file", () => {
    const { dependencies } = JSON.parse(read("package.json"));
    for (const client of Object.values(NPM)) {
      const [name = "", version] = client.split(" ");
      expect([name, version]).toEqual([name, dependencies[name]]);
    }
  });

  test.each(Object.entries(NPM))("%s does what its row says", async (name, client) => {
    expectRow(client, await behaviourOfClient(name));
  });

  test.each(NPM_FIXED)("%s with the lines of the page waits, and is not banned", async (name) => {
    expectFixed(await behaviourOfClient(`${name} fixed`));
  });
});

const PYPI = {
  urllib3_requests: "urllib3 2.8.0 Retry(3) under requests",
  niquests: "niquests 3.21.2 Session(retries=3)",
  httpx_retries: "httpx-retries 0.6.0",
  azure_core: "azure-core 1.41.0",
  stamina_httpx: "stamina 26.1.0 with httpx",
  aiohttp_retry_429: "aiohttp-retry 2.9.1 statuses={429}",
  aiohttp_retry: "aiohttp-retry 2.9.1",
};

describe.skipIf(skipsBecause("clients of PyPI", noPython()))("clients of PyPI", () => {
  const behaviourOfClient = async (name: string): Promise<Behaviour> => {
    const python = name === "niquests" ? PYTHON_NIQUESTS : PYTHON;
    const service = await startService();
    const hits = {} as Record<Scenario, readonly Hit[]>;
    for (const scenario of SCENARIOS) {
      const key = await service.issueKey();
      service.hits.length = 0;
      const options = [name, scenario, service.url, key, `${service.time.now / 1000}`];
      const child = spawn(python, [here("pypi_clients.py"), ...options], { stdio: "ignore" });
      expect(await once(child, "exit")).toEqual([0, null]);
      hits[scenario] = [...service.hits];
    }
    service.close();
    return behaviourOf(hits);
  };

  test("are those of the requirements", () => {
    const required = read("requirements.txt") + read("requirements-niquests.txt");
    for (const client of Object.values(PYPI)) {
      const [name, version] = client.split(" ");
      expect(required).toContain(`${name}==${version}\n`);
    }
  });

  test.each(Object.entries(PYPI))("%s does what its row says", async (name, client) => {
    expectRow(client, await behaviourOfClient(name));
  });

  test.each(["stamina_httpx", "aiohttp_retry_429"])(
    "%s with the lines of the page waits, and is not banned",
    async (name) => expectFixed(await behaviourOfClient(`${name}_fixed`)),
  );
});

const DEBIAN: [program: string, client: string, args: string[], method: string][] = [
  ["curl", "curl 7.88.1 --retry 3 --fail", ["-s", "--retry", "3", "--fail"], "-X"],
  [
    "wget",
    "wget 1.21.3 --retry-on-http-error=429 --tries=4",
    ["-q", "-O", "-", "--retry-on-http-error=429", "--tries=4"],
    "--method",
  ],
];

describe("programs of Debian, by a clock that nobody moves", () => {
  for (const [program, client, args, method] of DEBIAN) {
    const version = versionOf(program);
    const isSame = version === client.split(" ")[1];
    const reason = isSame ? undefined : `its version is ${version ?? "missing"}`;
    test.skipIf(skipsBecause(client, reason))(`${client} does what its row says`, async () => {
      const service = await startService({ toldSeconds: 2, isMoving: true });
      const hits = { get: [], delete: [], untold: [], series: [], parallel: [] } as Record<
        Scenario,
        readonly Hit[]
      >;
      for (const scenario of ["get", "delete", "untold"] as const) {
        service.hits.length = 0;
        const way = scenario === "delete" ? [method, "DELETE"] : [];
        const path = scenario === "untold" ? "untold" : "told";
        await once(
          spawn(program, [...args, ...way, `${service.url}/429/${path}`], { stdio: "ignore" }),
          "exit",
        );
        hits[scenario] = [...service.hits];
      }
      service.close();
      const [, repeats, waits, untold] = rowOf(client);
      const found = behaviourOf(hits, 2);
      expect([found.repeats, found.waits]).toEqual([repeats, waits]);
      expectSeconds(untold, Math.round(found.untoldSeconds ?? 0));
    });
  }

  const [wget, client, args] = DEBIAN[1] ?? ["", "", []];
  const reason = client.includes(` ${versionOf(wget)} `) ? undefined : "its version is another one";
  test.skipIf(skipsBecause(client, reason))("wget with the options of the page waits a minute", async () => {
    const service = await startService({ isMoving: true });
    const [, options = ""] = /minute: ([^;]+);/.exec(rowOf(client).at(-1) ?? "") ?? [];
    const all = [...args, "--tries=2", ...options.split(" "), `${service.url}/429/told`];
    await once(spawn(wget, all, { stdio: "ignore" }), "exit");
    service.close();
    const [first, second] = service.hits;
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(60_000);
  });
});

function versionOf(program: string): string | undefined {
  try {
    return /\d+(?:\.\d+)+/.exec(execFileSync(program, ["--version"], { encoding: "utf8" }))?.[0];
  } catch {
    return undefined;
  }
}
