import { expect, test } from "vitest";
import { TimeoutError } from "../../lib/client/index.ts";
import { NOON } from "../http/fixture.ts";
import { openClient, readAll, rejection } from "./fixture.ts";

const encode = (text: string) => new TextEncoder().encode(text);

/** A body that repeats a chunk for ever, and counts what was read of it. */
function endlessBody(
  chunk: Uint8Array,
  { first = new Uint8Array(), pause = () => new Promise<void>((resolve) => setImmediate(resolve)) } = {},
) {
  const seen = { bytes: 0, cancelled: false };
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        await pause();
        const next = seen.bytes === 0 && first.length > 0 ? first : chunk;
        seen.bytes += next.length;
        controller.enqueue(next);
      },
      cancel() {
        seen.cancelled = true;
      },
    },
    { highWaterMark: 0 },
  );
  return { body, seen };
}

/** A body that never sends a byte. */
function silentBody() {
  const seen = { cancelled: false };
  const body = new ReadableStream<Uint8Array>({
    cancel() {
      seen.cancelled = true;
    },
  });
  return { body, seen };
}

test.each([
  [10_000, 70_000],
  [16 * 1024, 64 * 1024],
])("an endless error body in chunks of %i bytes is cancelled after %i", async (size, bytes) => {
  const { body, seen } = endlessBody(new Uint8Array(size).fill(32));
  const network = async () => new Response(body, { status: 500 });
  const { client, run, during } = await openClient({ network });
  const error = { code: "unexpected_response", status: 500 };
  await expect(run(during(client.cancel(1n)))).rejects.toMatchObject(error);
  expect(seen).toEqual({ bytes, cancelled: true });
});

test.each([400, 503])("the attempt timeout ends a silent %i body and cancels it", async (status) => {
  const bodies = Array.from({ length: 2 }, silentBody);
  const { client, run, time, pendingTimers } = await openClient({
    network: async (_forward, attempt) => new Response(bodies[attempt - 1]?.body ?? null, { status }),
    maxAttempts: 2,
    attemptTimeoutMs: 3_000,
  });
  const error = await run(rejection(client.cancel(1n)));
  expect(error).toBeInstanceOf(TimeoutError);
  const message = "The service did not respond within 3000 ms.";
  expect(error).toMatchObject({ phase: "attempt", message });
  expect(time.now - NOON).toBe(6_250);
  expect(bodies.map(({ seen }) => seen.cancelled)).toEqual([true, true]);
  expect(pendingTimers()).toBe(0);
});

test("an error body that arrives byte by byte ends with the attempt", async () => {
  const pause = () => sleep(1_000, new AbortController().signal);
  const { body, seen } = endlessBody(Uint8Array.of(32), { pause });
  const { client, run, sleep } = await openClient({
    network: async () => new Response(body, { status: 500 }),
    maxAttempts: 1,
    attemptTimeoutMs: 3_000,
  });
  await expect(run(client.cancel(1n))).rejects.toMatchObject({ code: "timeout", phase: "attempt" });
  expect(seen.cancelled).toBe(true);
});

test("a 200 that never sends a byte is retried, and every body is cancelled", async () => {
  const bodies = Array.from({ length: 3 }, silentBody);
  const { client, run } = await openClient({
    network: async (_forward, attempt) => new Response(bodies[attempt - 1]?.body ?? null),
    maxAttempts: 3,
  });
  await expect(run(readAll(client.list()))).rejects.toMatchObject({ code: "timeout", phase: "attempt" });
  expect(bodies.map(({ seen }) => seen.cancelled)).toEqual([true, true, true]);
});

test.each([
  ["white space that arrives byte by byte", "[", " "],
  ["an element that arrives byte by byte", '[{"id":1', "0"],
])("the idle timeout ends a list with %s", async (_name, first, chunk) => {
  const pause = () => sleep(1_000, new AbortController().signal);
  const { body, seen } = endlessBody(encode(chunk), { first: encode(first), pause });
  const { client, run, sleep, time } = await openClient({
    network: async () => new Response(body),
    idleTimeoutMs: 5_000,
  });
  await expect(run(readAll(client.list()))).rejects.toMatchObject({ code: "timeout", phase: "idle" });
  expect(time.now - NOON).toBe(6_000);
  expect(seen.cancelled).toBe(true);
});
