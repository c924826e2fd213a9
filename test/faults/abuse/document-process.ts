/** The baseline for documents: `node:http` that answers each request with the bytes that the given URL returned once. */
import { once } from "node:events";
import { createServer, get, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";

const [url = "", encoding = ""] = process.argv.slice(2);
const request = get(url, { headers: { "accept-encoding": encoding } });
const [document] = (await once(request, "response")) as [IncomingMessage];
const bytes = await buffer(document);

const server = createServer((_request, response) => response.writeHead(200, document.headers).end(bytes));
server.listen(0, "127.0.0.1");
await once(server, "listening");

process.on("disconnect", () => process.exit());
process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
