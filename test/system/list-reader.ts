/** Reads a whole list in its own process and reports its size, time and memory: `node list-reader.ts BASE_URL KEY`. */
import { createClient } from "../../lib/client/index.ts";

const [, , baseUrl = "", apiKey = ""] = process.argv;
const rssBefore = process.resourceUsage().maxRSS;
const startedAt = performance.now();
let count = 0;
let last = 0n;
for await (const { id } of createClient({ baseUrl, apiKey }).list()) {
  count++;
  last = id;
}
const report = {
  count,
  last: `${last}`,
  seconds: (performance.now() - startedAt) / 1000,
  mebibytesBefore: rssBefore / 1024,
  mebibytes: process.resourceUsage().maxRSS / 1024,
};
process.stdout.write(JSON.stringify(report));
