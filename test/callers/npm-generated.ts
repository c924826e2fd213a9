import { pathToFileURL } from "node:url";

/* Calls the service with a client that was generated into a module, and prints what it reads. */

const [, , generator = "", file = "", baseUrl = "", keys = ""] = process.argv;
const generated = await import(pathToFileURL(file).href);

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: what the client has read.
  readonly body: any;
}
interface Api {
  readonly base: string | undefined;
  list(): Promise<Answer>;
  cancel(orderId: number): Promise<Answer>;
}

/** What openapi-fetch and hey-api return. */
type Returned = { data?: unknown; error?: { code: string }; response: Response };
const answerOf = async (returned: Promise<Returned>): Promise<Answer> => {
  const { data, error, response } = await returned;
  return {
    status: response.status,
    headers: response.headers,
    body: error === undefined ? data : error.code,
  };
};

const APIS: Readonly<Record<string, (key: string) => Api>> = {
  "openapi-typescript"(key) {
    const client = generated.default({ baseUrl, headers: { authorization: `Bearer ${key}` } });
    return {
      base: undefined,
      list: () => answerOf(client.GET("/store/orders")),
      cancel: (orderId) =>
        answerOf(client.DELETE("/store/orders/{orderId}", { params: { path: { orderId } } })),
    };
  },
  "@hey-api/openapi-ts"(key) {
    return {
      base: generated.client.getConfig().baseUrl,
      list: () => answerOf(generated.listOrders({ baseUrl, auth: key })),
      cancel: (orderId) => answerOf(generated.cancelOrder({ baseUrl, auth: key, path: { orderId } })),
    };
  },
  orval(key) {
    const options = { headers: { authorization: `Bearer ${key}` } };
    const read = ({ data, ...response }: { data: unknown } & Omit<Answer, "body">) => ({
      ...response,
      body: response.status >= 400 ? (data as { code: string }).code : data,
    });
    return {
      base: undefined,
      list: async () => read(await generated.listOrders(options)),
      cancel: async (orderId) => read(await generated.cancelOrder(orderId, options)),
    };
  },
  "typescript-fetch"(accessToken) {
    const api = new generated.OrdersApi(new generated.Configuration({ basePath: baseUrl, accessToken }));
    const read = async (call: Promise<{ raw: Response; value(): Promise<unknown> }>): Promise<Answer> => {
      try {
        const answer = await call;
        return { status: answer.raw.status, headers: answer.raw.headers, body: await answer.value() };
      } catch (error) {
        const { response } = error as {
          response: Omit<Response, "json"> & { json(): Promise<{ code: string }> };
        };
        const body = (await response.json()).code;
        return { status: response.status, headers: response.headers, body };
      }
    };
    return {
      base: new generated.Configuration().basePath,
      list: () => read(api.listOrdersRaw()),
      cancel: (orderId) => read(api.cancelOrderRaw({ orderId })),
    };
  },
};

const [api, spent] = keys.split(",").map((key) => APIS[generator]?.(key));
if (api === undefined || spent === undefined) throw new Error(`There is no ${generator}.`);
const codes = async ({ status, body }: Answer) => [status, body ?? null];
const { body: orders } = await api.list();
const limited = await spent.list();
const found = {
  base: api.base ?? "none",
  last: `${BigInt(orders.at(-1).id)}`,
  cancelled: (await api.cancel(1)).status,
  missing: await codes(await api.cancel(99)),
  conflict: await codes(await api.cancel(1)),
  limited: [...(await codes(limited)), limited.headers.get("retry-after")],
};
process.stdout.write(JSON.stringify(found));
