import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { runFunction } from "./runtime-api.ts";

const LAMBDA = new URL("../../../lib/lambda/index.ts", import.meta.url);

/** A function whose body stalls after its first part, as while the store is slow. */
const STALLED = `
import { createStreamingFunction } from "${LAMBDA}";

const body = () =>
  new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode("[1,")),
    pull: () => new Promise(() => {}),
    cancel: () => process.stdout.write("the body is cancelled\\n"),
  });
export const list = createStreamingFunction({ handler: async () => new Response(body()) });
`;

test("under the real runtime client, an exchange that ends while the store is slow cancels the body", async () => {
  const folder = await mkdtemp(join(tmpdir(), "store-orders-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, "stalled.mjs"), STALLED);
  const stalled = await runFunction(folder, "stalled.list", {});
  onTestFinished(stalled.stop);
  const event = { httpMethod: "GET", path: "/v1/store/orders", requestContext: {} };
  const { chunks } = await stalled.invoke(event, { disconnects: true });
  expect(Buffer.concat(chunks).length).toBeGreaterThan(0);
  await vi.waitFor(() => expect(stalled.log()).toContain("the body is cancelled"), 5_000);
});
