import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer, request } from "node:http";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startNodeServer } from "../../lib/node/server.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import { document, table } from "../documents/markdown.ts";
import { createHandlerFixture, MAX } from "../http/fixture.ts";
import { listenOn } from "../support/free-port.ts";
import { skipsBecause } from "../support/skip-reason.ts";
import { noPython, PYTHON } from "./setup.ts";

const PAGE = "lib/client/other-clients.md";
const { rows } = table(PAGE, "client", "lines", "error at a cut");
const here = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const INSTALLED = ["package.json", "requirements.txt"].map((name) => readFileSync(here(name), "utf8")).join();
const PLACED = 7_500;

const closes: (() => unknown)[] = [];
afterAll(() => Promise.all(closes.map((close) => close())));

/** The service with many orders, whose store fails after some pages. */
async function startService({ placed = PLACED, pages = Number.POSITIVE_INFINITY } = {}) {
  const store = createMemoryStore();
  const orders = Array.from({ length: placed }, (_, index) => ({
    record: { id: 1_000n + BigInt(index), petId: BigInt((index * 7919) % 10_007), quantity: index % 9 },
    status: "shipped" as const,
  }));
  await store.orders.place(orders);
  const { list } = store.orders;
  store.orders.list = async function* () {
    let left = pages;
    for await (const page of list()) {
      if (left-- === 0) throw new Error("The store failed.");
      yield page;
    }
  };
  const { handler, key } = await createHandlerFixture({ store, plan: "business" });
  const server = await startNodeServer({ handler, port: 0 });
  closes.push(() => server.close({ graceMs: 0 }));
  return [`${server.url}/v1`, key] as const;
}

/** What a proxy makes of a list: it passes on that it broke off, ends it as if it were complete, or cuts it first. */
type Proxy = { readonly gzip: boolean; readonly ending: "passed on" | "completed" | RegExp };

async function startProxy([target, key]: readonly [string, string], { gzip, ending }: Proxy) {
  const server = createServer(({ headers: { authorization, "accept-encoding": accepted } }, outgoing) => {
    const headers = { authorization, "accept-encoding": gzip ? accepted : "identity" };
    request(`${target}/store/orders`, { headers }, (answer) => {
      const { "content-encoding": encoding = "identity" } = answer.headers;
      outgoing.writeHead(200, { "content-type": "application/json", "content-encoding": encoding });
      const chunks: Buffer[] = [];
      answer.on("data", (chunk) => chunks.push(chunk)).on("error", () => {});
      answer.on("close", () => {
        const list = Buffer.concat(chunks);
        if (ending === "passed on") outgoing.write(list, () => outgoing.destroy());
        else outgoing.end(ending === "completed" ? list : ending.exec(`${list}`)?.[0]);
      });
    }).end();
  });
  closes.push(() => server.close());
  return [`http://127.0.0.1:${await listenOn(server)}/v1`, key] as const;
}

type List = Awaited<ReturnType<typeof startService>>;
let whole: List;
let long: List;
const cuts = new Map<string, List>();

beforeAll(async () => {
  whole = await startService();
  long = await startService({ placed: 500_000 });
  const failing = await startService({ pages: 5 });
  cuts.set("by the service", failing);
  for (const gzip of [true, false])
    for (const ending of ["passed on", "completed"] as const)
      cuts.set(`${ending}, gzip ${gzip}`, await startProxy(failing, { gzip, ending }));
  for (const ending of [/^.{200000}.*?,(?=\{)/s, /^.{200000}.*?"id":\d/s])
    cuts.set(`${ending}`, await startProxy(whole, { gzip: false, ending }));
});

/** By the name and version of its row: the file of the reader, and its name there. */
const READERS: Readonly<Record<string, readonly [file: string, name: string]>> = {
  "this client": ["npm-readers.ts", "this client"],
  "Node, stream-json 3.8.0": ["npm-readers.ts", "stream-json"],
  "axios 1.21.1": ["npm-readers.ts", "axios"],
  "JSONStream 1.3.5": ["npm-readers.ts", "JSONStream"],
  "Python, requests 2.34.2, ijson 3.6.0": ["pypi_readers.py", "requests"],
  "Python, httpx 0.28.1, ijson 3.6.0": ["pypi_readers.py", "httpx"],
  "pandas 3.1.1": ["pypi_readers.py", "pandas"],
  "polars 2.1.0": ["pypi_readers.py", "polars"],
  "DuckDB 2.0.1": ["pypi_readers.py", "DuckDB"],
};

describe.each(Object.entries(READERS))("%s", (client, [file, name]) => {
  const [, , error, identifiers, memory] = rows.find(([cell]) => cell === client) ?? [];
  const isPython = file.endsWith(".py");
  const read = (list: List) =>
    new Promise<{ failed: boolean; words: string[]; stderr: string }>((resolve) => {
      const program = isPython ? PYTHON : process.execPath;
      execFile(program, [here(file), name, ...list], (failure, stdout, stderr) =>
        resolve({ failed: failure !== null, words: stdout.trim().split(" "), stderr }),
      );
    });

  test("has the lines of its row, and its versions", () => {
    const source = readFileSync(here(file), "utf8");
    const [lines = ""] = document(PAGE).text.split(`| ${client} |`)[1]?.split(" | ") ?? [];
    for (const [, line = ""] of lines.matchAll(/`([^`]+)`/g)) expect(source.includes(line), line).toBe(true);
    for (const [, product = "", version] of client.matchAll(/([\w-]+) (\d[\d.]+)/g))
      expect(INSTALLED).toMatch(new RegExp(`${product}(==|": ")${version}\\b`, "i"));
  });

  const skipped = isPython && skipsBecause(client, noPython());
  test.skipIf(skipped)("does what its row says with a whole list, and with one that is cut", async () => {
    const { words, stderr } = await read(whole);
    expect({ count: words[0], stderr }).toEqual({ count: `${PLACED + 4}`, stderr: "" });
    expect(BigInt(words[1] ?? 0) === MAX ? "exact" : "rounded").toBe(identifiers);
    const accepted: string[] = [];
    for (const [cut, list] of cuts) {
      const { failed, words: printed } = await read(list);
      if (!failed) accepted.push(`${cut}: ${printed}`);
    }
    expect(accepted.length === 0 ? "yes" : "no", `${accepted.join("; ")}`).toBe(error);
  });

  test.skipIf(skipped)("needs the memory that its row says", async () => {
    const peakOf = async (list: List) => Number((await read(list)).words[2]);
    const growth = Math.round(((await peakOf(long)) - (await peakOf(whole))) / 1024);
    expect(growth > 45 ? "grows" : "constant", `by ${growth} MB`).toBe(memory);
  });
});
