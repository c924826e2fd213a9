/** A program that uses a client generated from the OpenAPI document: `node caller.ts BASE_URL KEY`. */
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.ts";

const [, , baseUrl = "", key = ""] = process.argv;
const client = createClient<paths>({ baseUrl, headers: { authorization: `Bearer ${key}` } });

/** The generated types map int64 to `number`. */
type Order = components["schemas"]["Order"];

const { data: orders = [], response } = await client.GET("/store/orders");
const ids: readonly (number | undefined)[] = orders.map((order: Order) => order.id);

const cancelled = await client.DELETE("/store/orders/{orderId}", { params: { path: { orderId: 1 } } });
const again = await client.DELETE("/store/orders/{orderId}", { params: { path: { orderId: 1 } } });
const code: components["schemas"]["Error"]["code"] | undefined = again.error?.code;

// The text of the response keeps every digit, for a parser that supports int64.
const { data: text } = await client.GET("/store/orders", { parseAs: "text" });

process.stdout.write(
  JSON.stringify({
    remaining: response.headers.get("x-ratelimit-remaining"),
    ids,
    cancelled: cancelled.response.status,
    again: [again.response.status, code],
    text,
  }),
);
