import { Agent, type IncomingHttpHeaders, request } from "node:http";
import { text } from "node:stream/consumers";

/** A complete response. */
export interface CancelResponse {
  readonly status: number;
  /** The code in the body of an error. */
  readonly code?: string;
  readonly headers: IncomingHttpHeaders;
}

/** Cancels orders over persistent connections. */
export interface HttpCaller {
  /** Resolves to `undefined` if the connection broke before the response. */
  cancel(id: bigint, key: string): Promise<CancelResponse | undefined>;
  [Symbol.dispose](): void;
}

/** Calls the API at a base address. */
export function createHttpCaller(url: string): HttpCaller {
  const agent = new Agent({ keepAlive: true });
  return {
    async cancel(id, key) {
      try {
        return await new Promise<CancelResponse>((resolve, reject) => {
          const options = { method: "DELETE", agent, headers: { authorization: `Bearer ${key}` } };
          request(`${url}/store/orders/${id}`, options, (response) => {
            const { statusCode: status = 0, headers } = response;
            text(response).then((body) => {
              resolve({ status, headers, ...(body === "" ? {} : { code: JSON.parse(body).code }) });
            }, reject);
          })
            .once("error", reject)
            .end();
        });
      } catch (error) {
        if (error instanceof Error && "code" in error) return undefined;
        throw error;
      }
    },
    [Symbol.dispose]: () => agent.destroy(),
  };
}
