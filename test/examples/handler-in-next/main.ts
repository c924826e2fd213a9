/** Builds the application, starts it and calls it. */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { generateKey } from "store-orders/accounts";

const key = generateKey("test", "acme");
const next = fileURLToPath(import.meta.resolve("next/dist/bin/next"));
const env = { ...process.env, ACME_KEY: key, NEXT_TELEMETRY_DISABLED: "1" };
execFileSync(process.execPath, [next, "build"], { env, stdio: ["ignore", "ignore", "inherit"] });
const server = spawn(process.execPath, [next, "start", "--port", "0", "--hostname", "127.0.0.1"], { env });

let origin = "";
for await (const line of createInterface(server.stdout)) {
  origin = /http:\/\/127\.0\.0\.1:\d+/.exec(line)?.[0] ?? origin;
  if (line.includes("Ready")) break;
}

async function call(path: string, init: RequestInit = {}): Promise<void> {
  const response = await fetch(`${origin}${path}`, init);
  const limit = response.headers.get("x-ratelimit-limit") ?? "-";
  process.stdout.write(`${response.status} ${(await response.text()).slice(0, 60)} limit: ${limit}\n`);
}

const headers = { authorization: `Bearer ${key}` };
await call("/shop/v1/store/orders", { headers });
await call("/shop/v1/store/orders/9223372036854775807", { method: "DELETE", headers });
await call("/shop/v1/store/orders");
await call("/shop/readyz");
server.kill();
await once(server, "exit");
