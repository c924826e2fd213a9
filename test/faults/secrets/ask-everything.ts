import type { Listener } from "./listener.ts";

/** Sends requests with every kind of key, put where keys belong and where they do not, and hears what comes back. */
export async function askEverything(
  { hear }: Listener,
  keys: readonly string[],
  send: (method: string, path: string, headers: Readonly<Record<string, string>>) => Promise<Response>,
): Promise<void> {
  for (const key of keys) {
    const bearer = { authorization: `Bearer ${key}` };
    for (const [method, path, headers] of [
      ["GET", "/v1/store/orders", bearer],
      ["DELETE", "/v1/store/orders/1", bearer],
      ["DELETE", `/v1/store/orders/${key}`, bearer],
      ["GET", `/v1/pets/${key}?key=${key}`, bearer],
      ["GET", `/${key}`, { authorization: key }],
      ["PUT", "/v1/store/orders", { authorization: `Basic ${key}`, cookie: key, "x-api-key": key }],
      ["GET", `/docs?key=${key}`, { referer: `http://localhost/${key}` }],
      ["GET", "/openapi.json", { authorization: `Bearer ${key}x`, "x-request-id": key }],
    ] as const) {
      const answer = await send(method, path, headers);
      const fields = [...answer.headers].map(([name, value]) => `${name}: ${value}`);
      hear(`${method} ${path.replace(key, "KEY")}`, `${fields.join("\n")}\n\n${await answer.text()}`);
    }
  }
}
