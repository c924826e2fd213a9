import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { homeOfPackages } from "../support/install-packages.ts";
import { behaviourOf, type Hit, SCENARIOS, type Scenario, startService } from "./service.ts";

/*
 * Runs the clients of npm against the service in this process, and prints what each does as JSON. A timer ends as soon as
 * nothing else happens, and moves the clock to its end: what waits for an hour takes no time.
 */

type Send = (method: string, url: string, headers: Record<string, string>) => Promise<unknown>;

const require = createRequire(join(homeOfPackages("callers"), "package.json"));
// biome-ignore lint/suspicious/noExplicitAny: packages without types here.
const load = async (name: string): Promise<any> => import(pathToFileURL(require.resolve(name)).href);

/** What tells a client how long to wait, in milliseconds, where it does not read the header itself. */
const toldMs = (headers: { get(name: string): string | null } | undefined) =>
  1000 * Number(headers?.get("retry-after") ?? 60);

/** Each as its documents say, with three repeats where a number has to be given; "fixed" with the lines of the page. */
const CLIENTS: Record<string, () => Promise<Send>> = {
  async ky() {
    const { default: ky } = await load("ky");
    return (method, url, headers) => ky(url, { method, headers }).text();
  },
  async got() {
    const { default: got } = await load("got");
    return (method, url, headers) => got(url, { method, headers }).text();
  },
  async "axios-retry"() {
    const { default: axios } = await load("axios");
    const { default: module } = await load("axios-retry");
    const axiosRetry = module.default ?? module;
    const client = axios.create();
    const retryCondition = (error: { response?: { status: number } }) => error.response?.status === 429;
    axiosRetry(client, { retries: 3, retryCondition });
    return (method, url, headers) => client.request({ method, url, headers });
  },
  async "undici RetryAgent"() {
    const { Agent, RetryAgent, request } = await load("undici");
    const dispatcher = new RetryAgent(new Agent());
    return async (method, url, headers) => (await request(url, { method, headers, dispatcher })).body.text();
  },
  async "undici RetryAgent fixed"() {
    const { Agent, RetryAgent, request } = await load("undici");
    const dispatcher = new RetryAgent(new Agent(), { maxTimeout: 900_000, maxRetries: 3 });
    return async (method, url, headers) => (await request(url, { method, headers, dispatcher })).body.text();
  },
  async "retry-axios"() {
    const { default: axios } = await load("axios");
    const rax = await load("retry-axios");
    const client = axios.create();
    client.defaults.raxConfig = { instance: client };
    rax.attach(client);
    return (method, url, headers) => client.request({ method, url, headers });
  },
  async "@azure/core-rest-pipeline"() {
    const azure = await load("@azure/core-rest-pipeline");
    const pipeline = azure.createPipelineFromOptions({});
    const http = azure.createDefaultHttpClient();
    return (method, url, given) => {
      const headers = azure.createHttpHeaders(given);
      const request = azure.createPipelineRequest({ method, url, headers, allowInsecureConnection: true });
      return pipeline.sendRequest(http, request);
    };
  },
  async ofetch() {
    const { ofetch } = await load("ofetch");
    return (method, url, headers) => ofetch(url, { method, headers, retry: 3 });
  },
  async "ofetch fixed"() {
    const { ofetch } = await load("ofetch");
    const retryDelay = ({ response }: { response?: Response }) => toldMs(response?.headers);
    return (method, url, headers) => ofetch(url, { method, headers, retry: 3, retryDelay });
  },
  async superagent() {
    const { default: superagent } = await load("superagent");
    return async (method, url, headers) => superagent(method, url).set(headers).retry(3);
  },
  async "superagent fixed"() {
    const { default: superagent } = await load("superagent");
    const isRetried = (_error: unknown, response?: { status: number }) => response?.status !== 429;
    return async (method, url, headers) => superagent(method, url).set(headers).retry(3, isRetried);
  },
  async gaxios() {
    const { request } = await load("gaxios");
    return (method, url, headers) => request({ method, url, headers, retry: true });
  },
  async "gaxios fixed"() {
    const { request } = await load("gaxios");
    const retryBackoff = (error: { response?: Response }) =>
      new Promise<void>((resolve) => setTimeout(resolve, toldMs(error.response?.headers)));
    return (method, url, headers) => request({ method, url, headers, retryConfig: { retryBackoff } });
  },
  async "make-fetch-happen"() {
    const { default: makeFetchHappen } = await load("make-fetch-happen");
    return async (method, url, headers) =>
      (await makeFetchHappen(url, { method, headers, retry: { retries: 3 } })).text();
  },
  async "make-fetch-happen fixed"() {
    const { default: makeFetchHappen } = await load("make-fetch-happen");
    return async (method, url, headers) =>
      (await makeFetchHappen(url, { method, headers, retry: { retries: 3, minTimeout: 60_000 } })).text();
  },
  async "fetch-retry"() {
    const { default: fetchRetry } = await load("fetch-retry");
    const fetchAgain = fetchRetry(fetch, { retries: 3, retryOn: [429] });
    return async (method, url, headers) => (await fetchAgain(url, { method, headers })).text();
  },
  async "fetch-retry fixed"() {
    const { default: fetchRetry } = await load("fetch-retry");
    const retryDelay = (_attempt: number, _error: unknown, response?: Response) => toldMs(response?.headers);
    const fetchAgain = fetchRetry(fetch, { retries: 3, retryOn: [429], retryDelay });
    return async (method, url, headers) => (await fetchAgain(url, { method, headers })).text();
  },
  async wretch() {
    const { default: wretch } = await load("wretch");
    return (method, url, headers) => wretch(url).headers(headers).fetch(method).text();
  },
};

const service = await startService();

/** The timers of the clients. The clock of the process is that of the service. */
const timers = new Map<object, { readonly at: number; readonly end: () => void }>();
Object.assign(globalThis, {
  setTimeout(end: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) {
    const timer = {
      ref: () => timer,
      unref: () => timer,
      hasRef: () => true,
      refresh: () => timer,
      [Symbol.toPrimitive]: () => 0,
    };
    timers.set(timer, { at: service.time.now + Math.max(0, Number(ms) || 0), end: () => end(...args) });
    return timer;
  },
  clearTimeout: (timer: object) => void timers.delete(timer),
});
Date.now = () => service.time.now;

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Moves the clock from timer to timer while the work goes on. */
async function moveClock(work: Promise<unknown>): Promise<void> {
  let isDone = false;
  void work.finally(() => {
    isDone = true;
  });
  while (!isDone) {
    const before = service.hits.length;
    for (let turns = 0; turns < 40 && !isDone; turns++) await turn();
    if (isDone || service.inFlight() > 0 || service.hits.length > before) continue;
    const [next] = [...timers].sort(([, one], [, other]) => one.at - other.at);
    if (next === undefined) continue;
    timers.delete(next[0]);
    service.time.now = Math.max(service.time.now, Math.ceil(next[1].at));
    next[1].end();
  }
  timers.clear();
}

async function play(send: Send, scenario: Scenario): Promise<void> {
  const headers = { authorization: `Bearer ${await service.issueKey()}` };
  const list = () => send("GET", `${service.url}/v1/store/orders`, headers).catch(() => {});
  if (scenario === "get") return void (await send("GET", `${service.url}/429/told`, headers).catch(() => {}));
  if (scenario === "delete")
    return void (await send("DELETE", `${service.url}/429/told`, headers).catch(() => {}));
  if (scenario === "untold")
    return void (await send("GET", `${service.url}/429/untold`, headers).catch(() => {}));
  if (scenario === "parallel") return void (await Promise.all(Array.from({ length: 100 }, list)));
  for (let request = 0; request < 100; request++) await list();
}

for (const [name, open] of Object.entries(CLIENTS)) {
  if (process.argv[2] !== undefined && process.argv[2] !== name) continue;
  const send = await open();
  const hits = {} as Record<Scenario, Hit[]>;
  for (const scenario of SCENARIOS) {
    service.hits.length = 0;
    await moveClock(play(send, scenario));
    hits[scenario] = [...service.hits];
  }
  process.stdout.write(`${JSON.stringify({ name, ...behaviourOf(hits) })}\n`);
}
service.close();
process.exit(0);
