import type { LeakDetector } from "./leak-detector.ts";

/** Sends each key in every place of a request, valid or not, and records the responses. */
export async function sendKeysEverywhere(
  { record }: LeakDetector,
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
      const response = await send(method, path, headers);
      const fields = [...response.headers].map(([name, value]) => `${name}: ${value}`);
      record(`${method} ${path.replace(key, "KEY")}`, `${fields.join("\n")}\n\n${await response.text()}`);
    }
  }
}
