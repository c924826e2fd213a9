/** Serves the API under the hosts in domains.ts, and sends one request to each of them. */
import { request } from "node:http";
import { hostsOf, hostTable } from "store-orders/domains";
import { createHandler } from "store-orders/http";
import { createMemoryStore } from "store-orders/memory";
import { startNodeServer } from "store-orders/node";
import { domains } from "./domains.ts";

const hosts = hostTable(domains);
const handler = createHandler({ store: createMemoryStore(), hosts: () => hosts });
const server = await startNodeServer({ handler, port: 0 });

for (const { host } of [...hostsOf(domains), { host: "unknown.example.com" }]) {
  const { status, location } = await get(host, "/v1/store/orders?limit=1");
  process.stdout.write(`${host}: ${status} ${location}\n`);
}
await server.close();

/** Sends a request with any Host header, which fetch does not allow. */
function get(host: string, path: string): Promise<{ status: number; location: string }> {
  return new Promise((resolve, reject) => {
    const sent = request(server.url, { path, headers: { host } }, (response) => {
      response.resume();
      resolve({ status: response.statusCode ?? 0, location: response.headers.location ?? "-" });
    });
    sent.on("error", reject).end();
  });
}
