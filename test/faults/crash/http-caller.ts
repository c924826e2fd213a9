import { Agent, type IncomingHttpHeaders, request } from "node:http";
import { text } from "node:stream/consumers";

/** An answer that arrived whole. */
export interface Reply {
  readonly status: number;
  /** The code in the body of an error. */
  readonly code?: string;
  readonly headers: IncomingHttpHeaders;
}

/** Cancels orders over connections that it keeps. */
export interface Caller {
  /** `undefined`: the connection broke before there was an answer. */
  cancel(id: bigint, key: string): Promise<Reply | undefined>;
  [Symbol.dispose](): void;
}

/** Calls the API at a base address. */
export function httpCaller(url: string): Caller {
  const agent = new Agent({ keepAlive: true });
  return {
    async cancel(id, key) {
      try {
        return await new Promise<Reply>((resolve, reject) => {
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
