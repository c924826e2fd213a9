import type { ClientOptions } from "../../lib/client/client.ts";
import { createClient } from "../../lib/client/index.ts";
import { openShop } from "../http/fixture.ts";
import { createVirtualTime } from "./virtual-time.ts";

/** What stands in for the network: it may answer itself, or pass the request on to the shop. */
export type Network = (
  pass: () => Promise<Response>,
  number: number,
  signal: AbortSignal,
) => Promise<Response>;

/** A client of a shop in one process under virtual time, with a network that a test can disturb. */
export async function openService({
  network = (pass) => pass(),
  ...options
}: Partial<ClientOptions> & { network?: Network } = {}) {
  const virtual = createVirtualTime();
  const shop = await openShop({ clock: virtual.clock });
  const sent: { readonly at: number; readonly method: string; readonly path: string }[] = [];
  const client = createClient({
    baseUrl: "http://shop.test/v1",
    apiKey: shop.key,
    clock: virtual.clock,
    sleep: virtual.sleep,
    random: () => 0.5,
    fetch: async (url, init) => {
      const { pathname } = new URL(url);
      const { signal, ...rest } = init;
      sent.push({ at: virtual.time.now, method: init.method ?? "GET", path: pathname });
      const pass = () => shop.handler(new Request(url, rest), { address: "192.0.2.1" });
      return network(pass, sent.length, signal as AbortSignal);
    },
    ...options,
  });
  return { ...shop, ...virtual, client, sent };
}

/** An error answer as the service gives it. */
export function errorAnswer(
  status: number,
  code: string,
  headers: Record<string, string> = {},
  message = "No.",
): Response {
  return Response.json({ code, message, status }, { status, headers });
}
