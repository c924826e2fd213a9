/** A program of its own that reads a whole list: `node list-reader.ts BASE_URL KEY`. Tells what it saw and took. */
import { createClient } from "../../lib/client/index.ts";

const [, , baseUrl = "", apiKey = ""] = process.argv;
const before = process.resourceUsage().maxRSS;
const began = performance.now();
let count = 0;
let last = 0n;
for await (const { id } of createClient({ baseUrl, apiKey }).list()) {
  count++;
  last = id;
}
const result = {
  count,
  last: `${last}`,
  seconds: (performance.now() - began) / 1000,
  mebibytesBefore: before / 1024,
  mebibytes: process.resourceUsage().maxRSS / 1024,
};
process.stdout.write(JSON.stringify(result));
