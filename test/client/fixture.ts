import { createClient } from "../../lib/client/index.ts";
import type { ClientOptions } from "../../lib/client/options.ts";
import type { HandlerOptions } from "../../lib/http/options.ts";
import { createHandlerFixture } from "../http/fixture.ts";
import { createVirtualTime } from "./virtual-time.ts";

/** Replaces the network: it may respond itself, or forward the request to the service. */
export type Network = (
  forward: () => Promise<Response>,
  attempt: number,
  signal: AbortSignal,
) => Promise<Response>;

/** A client and its service in one process under virtual time, with a network that a test can replace. */
export async function openClient({
  network = (forward) => forward(),
  operations,
  ...options
}: Partial<ClientOptions> & Pick<HandlerOptions, "operations"> & { network?: Network } = {}) {
  const virtual = createVirtualTime();
  const service = await createHandlerFixture({ clock: virtual.clock, ...(operations && { operations }) });
  const sent: { readonly at: number; readonly method: string; readonly path: string }[] = [];
  const client = createClient({
    baseUrl: "http://orders.test/v1",
    apiKey: service.key,
    clock: virtual.clock,
    sleep: virtual.sleep,
    random: () => 0.5,
    fetch: async (url, init) => {
      const { pathname } = new URL(url);
      const { signal, ...rest } = init;
      sent.push({ at: virtual.time.now, method: init.method ?? "GET", path: pathname });
      const request = new Request(url, rest);
      const forward = () => virtual.during(service.handler(request, { address: "192.0.2.1" }));
      return network(forward, sent.length, signal as AbortSignal);
    },
    ...options,
  });
  return { ...service, ...virtual, client, sent };
}

/** A client whose first response is the given one; the service sends all others. */
export const openAfter = (first: Response, options: Parameters<typeof openClient>[0] = {}) =>
  openClient({ network: async (forward, attempt) => (attempt === 1 ? first : forward()), ...options });

/** An error response in the service's format. */
export function errorResponse(
  status: number,
  code: string,
  headers: Record<string, string> = {},
  message = "No.",
): Response {
  return Response.json({ code, message, status }, { status, headers });
}

/** A 200 whose body has these chunks and then fails, hangs or ends. */
export function streamResponse(texts: readonly string[], end: "fails" | "hangs" | "ends"): Response {
  const encoder = new TextEncoder();
  const chunks = texts.map((text) => encoder.encode(text));
  return new Response(
    new ReadableStream(
      {
        async pull(controller) {
          const chunk = chunks.shift();
          if (chunk !== undefined) controller.enqueue(chunk);
          else if (end === "fails") controller.error(new TypeError("terminated"));
          else if (end === "ends") controller.close();
          else await new Promise<void>(() => {});
        },
      },
      { highWaterMark: 0 },
    ),
  );
}

/** Never responds; rejects when the signal aborts, as `fetch` does. */
export function neverRespond(_forward: unknown, _attempt: number, signal: AbortSignal): Promise<Response> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason));
  });
}

export async function rejection(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (error: unknown) => error,
  );
}

/** Everything that an iteration yields: the orders of a list, or pages. */
export async function readAll<T>(iteration: AsyncIterable<T>): Promise<readonly T[]> {
  const values: T[] = [];
  for await (const value of iteration) values.push(value);
  return values;
}
