import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { startNodeServer } from "../../lib/node/server.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import { createHandlerFixture } from "../http/fixture.ts";

const MILLION = 1_000_000;
const PAGE_SIZE = 500;
const FIRST = 9_000_000_000_000_000_000n;

test("the client reads a million orders with all their digits in bounded memory", async () => {
  const store = createMemoryStore();
  store.orders.list = async function* () {
    for (let from = 0; from < MILLION; from += PAGE_SIZE) {
      const rows = Array.from(
        { length: PAGE_SIZE },
        (_, index) =>
          `{"id":${FIRST + BigInt(from + index)},"petId":7,"quantity":2,"shipDate":"2026-11-01T00:00:00Z","complete":true}`,
      );
      yield { json: rows.join(","), last: from + PAGE_SIZE >= MILLION };
    }
  };
  const { handler, key } = await createHandlerFixture({ store });
  const server = await startNodeServer({ handler, port: 0 });
  try {
    const program = new URL("list-reader.ts", import.meta.url).pathname;
    const { stdout } = await promisify(execFile)(process.execPath, [program, `${server.url}/v1`, key]);
    const report = JSON.parse(stdout) as Record<string, number>;
    process.stderr.write(`client list of a million orders: ${stdout}\n`);
    expect(report).toMatchObject({ count: MILLION, last: `${FIRST + BigInt(MILLION - 1)}` });
    expect(report["mebibytes"]).toBeLessThan(160);
  } finally {
    await server.close({ graceMs: 0 });
  }
});
