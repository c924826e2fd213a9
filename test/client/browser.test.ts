import { createContext, runInContext } from "node:vm";
import { build } from "esbuild";
import { expect, test } from "vitest";

const ROOT = new URL("../..", import.meta.url).pathname;
const ENTRY = new URL("../../lib/client/index.ts", import.meta.url).pathname;

/** The bundle of a program on a web page that uses the client. */
async function bundleForBrowser() {
  const { outputFiles, metafile } = await build({
    stdin: {
      contents: `import { createClient } from ${JSON.stringify(ENTRY)}; globalThis.createClient = createClient;`,
      resolveDir: ROOT,
    },
    absWorkingDir: ROOT,
    bundle: true,
    platform: "browser",
    format: "iife",
    minify: true,
    metafile: true,
    write: false,
    logLevel: "silent",
  });
  return { code: outputFiles[0]?.text ?? "", inputs: Object.keys(metafile.inputs) };
}

test("a browser bundle of the client contains only the client, the order format and the errors", async () => {
  const { code, inputs } = await bundleForBrowser();
  const others = inputs.filter(
    (file) =>
      !/^(<stdin>|lib\/(client|orders)\/[\w-]+\.ts|lib\/core\/(base62|concurrency|errors|lifecycle|retry-after|time)\.ts|lib\/http\/errors\.ts)$/.test(
        file,
      ),
  );
  expect(others).toEqual([]);
  expect(code.length).toBeLessThan(22_000);
});

test("the client lists and cancels orders with nothing but web platform globals", async () => {
  const { code } = await bundleForBrowser();
  const { AbortController, Blob, Response, TextDecoder, URL } = globalThis;
  const { clearTimeout, crypto, performance, setTimeout } = globalThis;
  const fetch = async (_url: string, { method }: RequestInit) =>
    method === "DELETE" ? new Response(null, { status: 204 }) : new Response('[{"id":9223372036854775807}]');
  const page = createContext({
    ...{ AbortController, Blob, Response, TextDecoder, URL },
    ...{ clearTimeout, crypto, performance, setTimeout, fetch },
  });
  runInContext(code, page);
  const result = await runInContext(
    `(async () => {
      const orders = createClient({ baseUrl: "https://orders.example.com/v1", apiKey: "key" });
      const ids = [];
      for await (const order of orders.list()) ids.push(String(order.id));
      return JSON.stringify({ ids, cancelled: await orders.cancel(1n) });
    })()`,
    page,
  );
  expect(JSON.parse(result)).toEqual({ ids: ["9223372036854775807"], cancelled: { ok: true } });
});
