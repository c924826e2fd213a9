import { Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import type { ProxyEvent } from "../../lib/lambda/event.ts";
import { createBufferedFunction, createStreamingFunction } from "../../lib/lambda/index.ts";

const event: ProxyEvent = { httpMethod: "GET", path: "/v1/store/orders", requestContext: {} };
const PIECE = new TextEncoder().encode("0123456789");

/** A body that counts what is asked of it, and fails after so many pieces. */
function countedBody({ pieces = Infinity, fails = false } = {}) {
  const seen = { pulled: 0, cancelled: false };
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (seen.pulled++ < pieces) controller.enqueue(PIECE);
        else if (fails) controller.error(new RangeError("gone"));
        else controller.close();
      },
      cancel() {
        seen.cancelled = true;
      },
    },
    { highWaterMark: 0 },
  );
  return { seen, handler: async () => new Response(body) };
}

test("a slow reader holds the reading back", async () => {
  const { seen, handler } = countedBody({ pieces: 100 });
  const taken: Array<() => void> = [];
  const stream = new Writable({
    highWaterMark: 20,
    write: (_chunk, _encoding, done) => void taken.push(done),
  });
  const answered = createStreamingFunction({ handler })(event, stream);
  await sleep(20);
  expect(seen.pulled).toBeLessThan(5);
  const drain = setInterval(() => {
    for (const done of taken.splice(0)) done();
  }, 0);
  await answered;
  clearInterval(drain);
  expect(seen.pulled).toBe(101);
  expect(stream.writableEnded).toBe(true);
});

test.each([
  ["while it is waited for", 20],
  ["while it reads", 1_000],
])("a reader that leaves %s ends the reading", async (_when, highWaterMark) => {
  const { seen, handler } = countedBody();
  let taken = 0;
  const stream = new Writable({
    highWaterMark,
    write(_chunk, _encoding, done) {
      if (++taken < 3) return done();
      this.destroy();
    },
  });
  await createStreamingFunction({ handler })(event, stream);
  expect(seen.cancelled).toBe(true);
  expect(seen.pulled).toBeLessThan(200);
});

test("a body that breaks off rejects and leaves the stream unended, so that the runtime reports it", async () => {
  const { handler } = countedBody({ pieces: 3, fails: true });
  const chunks: string[] = [];
  const stream = new Writable({
    write(chunk, _encoding, done) {
      chunks.push(`${chunk}`);
      done();
    },
  });
  await expect(createStreamingFunction({ handler })(event, stream)).rejects.toThrow(RangeError);
  expect(chunks).toHaveLength(3);
  expect(stream.writableEnded).toBe(false);
});

test("the first byte is told once, with the status", async () => {
  const { handler } = countedBody({ pieces: 3 });
  const told: number[] = [];
  const stream = new Writable({ write: (_chunk, _encoding, done) => done() });
  await createStreamingFunction({ handler, onFirstByte: (status) => told.push(status) })(event, stream);
  expect(told).toEqual([200]);
});

test("bytes that are no text leave the buffered function in base64, and text as it is", async () => {
  const bytes = Uint8Array.of(0xff, 0x00, 0xfe);
  const answer = (body: string | Uint8Array<ArrayBuffer>) =>
    createBufferedFunction({ handler: async () => new Response(body) })(event);
  expect(await answer(bytes)).toMatchObject({
    body: Buffer.from(bytes).toString("base64"),
    isBase64Encoded: true,
  });
  expect(await answer("\ufeffä")).toMatchObject({ body: "\ufeffä", isBase64Encoded: false });
});
