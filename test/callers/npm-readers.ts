import { createRequire } from "node:module";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { pathToFileURL } from "node:url";
import { createClient } from "../../lib/client/index.ts";
import { homeOfPackages } from "../support/install-packages.ts";

/* Reads the list with one client of npm, and prints how many orders there are, the last identifier, and its memory. */

const [, , reader = "", baseUrl = "", apiKey = ""] = process.argv;
const url = `${baseUrl}/store/orders`;
const headers = { authorization: `Bearer ${apiKey}` };
const require = createRequire(join(homeOfPackages("callers"), "package.json"));
// biome-ignore lint/suspicious/noExplicitAny: packages without types here.
const load = async (name: string): Promise<any> => import(pathToFileURL(require.resolve(name)).href);

async function fetchList() {
  const { body } = await fetch(url, { headers });
  if (body === null) throw new Error("There is no body.");
  return Readable.fromWeb(body as never);
}

type Order = { readonly id: number | string | bigint };
let count = 0;
let last: Order["id"] | undefined;
const found = ({ id }: Order) => {
  count++;
  last = id;
};

const READERS: Readonly<Record<string, () => Promise<void>>> = {
  async "this client"() {
    const client = createClient({ baseUrl, apiKey, maxAttempts: 1 });
    for await (const order of client.list()) found(order);
  },
  async "stream-json"() {
    const { streamArray } = await load("stream-json/streamers/stream-array.js");
    const body = await fetchList();
    const read = async (orders: AsyncIterable<unknown>) => {
      for await (const order of orders) found((order as { value: Order }).value);
    };
    await pipeline(body, streamArray.withParserAsStream({ numberAsString: true }), read);
  },
  async axios() {
    const { default: axios } = await load("axios");
    const { data } = await axios.get(url, { headers });
    count = data.length;
    last = data.at(-1).id;
  },
  async JSONStream() {
    const { default: jsonStream } = await load("JSONStream");
    const body = await fetchList();
    const orders = body.on("error", () => {}).pipe(jsonStream.parse("*"));
    await new Promise((resolve) => orders.on("data", found).on("end", resolve));
  },
};

await READERS[reader]?.();
process.stdout.write([count, last, process.resourceUsage().maxRSS].join(" "));
