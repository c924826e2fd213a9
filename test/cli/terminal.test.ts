import { closeSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { expect, test } from "vitest";
import { createFileStream, createLogWriter, MAX_BUFFERED_LOG_BYTES } from "../../lib/cli/terminal.ts";

/** A stream whose reader does nothing until `resume` is called. */
function stalledStream() {
  const written: string[] = [];
  let resume: (() => void) | undefined;
  let stalled = true;
  const stream = new Writable({
    write(chunk: Buffer, _encoding, callback) {
      written.push(chunk.toString());
      if (stalled) resume = callback;
      else callback();
    },
  });
  return {
    stream,
    written,
    resume() {
      stalled = false;
      resume?.();
    },
  };
}

test("lines beyond the limit are dropped while the reader stalls, and counted once it catches up", async () => {
  const { stream, written, resume } = stalledStream();
  const log = createLogWriter(stream);
  const line = "x".repeat(399);
  for (let count = 0; count < 10_000; count++) log.write(line);
  expect(stream.writableLength).toBeLessThanOrEqual(MAX_BUFFERED_LOG_BYTES);

  resume();
  await log.drain();
  const kept = written.filter((text) => text === `${line}\n`).length;
  expect(kept).toBeGreaterThan(2_500);
  expect(written.at(-1)).toMatch(new RegExp(`^${10_000 - kept} log lines were dropped`));

  log.write("next");
  expect(written.at(-1)).toBe("next\n");
});

test("the number of dropped lines is reported as JSON if they were JSON", async () => {
  const { stream, written, resume } = stalledStream();
  const log = createLogWriter(stream);
  const line = JSON.stringify({ level: "info", message: "x".repeat(1_000) });
  for (let count = 0; count < 3_000; count++) log.write(line);
  resume();
  await log.drain();
  for (const text of written) expect(JSON.parse(text)).toMatchObject({ level: expect.any(String) });
  expect(JSON.parse(written.at(-1) ?? "")).toMatchObject({
    at: expect.any(String),
    level: "warn",
    message: expect.stringMatching(/^\d+ log lines were dropped/),
  });
});

test.each(["x", "€"])("a line of any length, of %s only, is cut, not dropped", (character) => {
  const { stream, written } = stalledStream();
  createLogWriter(stream).write(character.repeat(3 * MAX_BUFFERED_LOG_BYTES));
  expect(written).toEqual([expect.stringMatching(/^(?:x+|€+)…\n$/)]);
  expect(stream.writableLength).toBeLessThan(MAX_BUFFERED_LOG_BYTES);
});

test("what is left of a long line of JSON is the message of a line of JSON", () => {
  const { stream, written } = stalledStream();
  const line = JSON.stringify({ code: "invalid_input", message: '"'.repeat(MAX_BUFFERED_LOG_BYTES) });
  createLogWriter(stream).write(line);
  const message = expect.stringMatching(/^\{"code":"invalid_input".+…$/);
  expect(JSON.parse(written.join(""))).toMatchObject({ level: "error", message });
});

test("drain() resolves immediately if the reader keeps up, and when the stream is closed", async () => {
  const { stream } = stalledStream();
  const log = createLogWriter(stream);
  await log.drain();
  log.write("x".repeat(100_000));
  const drained = log.drain();
  stream.destroy();
  await drained;
  await log.drain();
});

test("a line for a file is written in the background, and lines that wait for the disk are written as one", async () => {
  const path = join(tmpdir(), `store-orders-log-${process.pid}`);
  const descriptor = openSync(path, "w");
  try {
    const stream = createFileStream(descriptor);
    for (const line of ["first", "second", "third"]) stream.write(`${line}\n`);
    expect(stream.writableLength).toBe("first\nsecond\nthird\n".length);
    await new Promise<void>((resolve) => stream.end(resolve));
    expect(readFileSync(path, "utf8")).toBe("first\nsecond\nthird\n");
  } finally {
    closeSync(descriptor);
    rmSync(path);
  }
});

test("a disk that refuses a line does not end the log", async () => {
  const descriptor = openSync("/dev/null", "r");
  try {
    const stream = createFileStream(descriptor);
    for (const line of ["first", "second"])
      await new Promise<void>((resolve, reject) => {
        stream.write(line, (error) => (error ? reject(error) : resolve()));
      });
    expect(stream.destroyed).toBe(false);
  } finally {
    closeSync(descriptor);
  }
});
