/** Bundles the worker and runs it in workerd, the runtime of Cloudflare Workers. */
import { build } from "esbuild";
import { Miniflare } from "miniflare";
import { generateKey } from "store-orders/accounts";

const { outputFiles } = await build({
  entryPoints: ["worker.ts"],
  bundle: true,
  format: "esm",
  platform: "neutral",
  write: false,
});
const key = generateKey("test", "acme");
const workers = new Miniflare({
  modules: true,
  script: outputFiles[0]?.text ?? "",
  compatibilityDate: "2026-07-01",
  bindings: { ACME_KEY: key },
});

async function call(path: string, init: { method?: string; headers?: Record<string, string> } = {}) {
  const response = await workers.dispatchFetch(`http://localhost${path}`, init);
  const limit = response.headers.get("x-ratelimit-limit") ?? "-";
  process.stdout.write(`${response.status} ${(await response.text()).slice(0, 60)} limit: ${limit}\n`);
}

const headers = { authorization: `Bearer ${key}` };
await call("/v1/store/orders", { headers });
await call("/v1/store/orders/9223372036854775807", { method: "DELETE", headers });
await call("/v1/store/orders");
await call("/openapi.json");
await workers.dispose();
