import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { afterEach, expect, test } from "vitest";
import { createClient, IncompleteListError } from "../../lib/client/index.ts";

const ORDERS = 20_000;
const LIST = `[${Array.from({ length: ORDERS }, (_, id) => `{"id":${id},"petId":${(id * 7_919) % 80_000}}`).join(",")}]`;
const COMPRESSED = gzipSync(LIST);

let respond: (request: IncomingMessage, response: ServerResponse) => void;
const server = createServer((request, response) => respond(request, response));
afterEach(() => {
  server.close();
  server.closeAllConnections();
});

/** Reads the list over the network, with the platform's own `fetch`. */
async function readList(): Promise<{ readonly ids: readonly bigint[]; readonly error: unknown }> {
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const client = createClient({ baseUrl: `http://127.0.0.1:${port}/v1`, apiKey: "any", maxAttempts: 1 });
  const ids: bigint[] = [];
  try {
    for await (const { id } of client.list()) ids.push(id);
    return { ids, error: undefined };
  } catch (error) {
    return { ids, error };
  }
}

const HEADERS = { "content-type": "application/json", "content-encoding": "gzip" };

test("the client accepts gzip and reads a compressed list", async () => {
  let accepted = "";
  respond = (request, response) => {
    accepted = `${request.headers["accept-encoding"]}`;
    response.writeHead(200, HEADERS).end(COMPRESSED);
  };
  const { ids, error } = await readList();
  expect(error).toBeUndefined();
  expect(ids).toHaveLength(ORDERS);
  expect(accepted).toMatch(/\bgzip\b/);
});

test("a compressed list that ends in the middle throws IncompleteListError after correct orders", async () => {
  respond = (_request, response) => {
    response.writeHead(200, HEADERS).end(COMPRESSED.subarray(0, COMPRESSED.length / 2));
  };
  const { ids, error } = await readList();
  expect(error).toBeInstanceOf(IncompleteListError);
  expect(ids.length).toBeGreaterThan(1_000);
  expect(ids.length).toBeLessThan(ORDERS);
  expect(ids.every((id, index) => id === BigInt(index))).toBe(true);
});
