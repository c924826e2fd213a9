import type { ServerResponse } from "node:http";
import type { FastResponse } from "srvx/node";
import { waitForDrain } from "../http/wait-for-drain.ts";
import { queueWork } from "./work-queue.ts";

/**
 * Sends a response over `node:http`. Resolves when nothing more will be written. A body is read only as fast as the
 * client receives it, and no longer once the client disconnects. The connection is closed if the body fails, or if the
 * client does not receive a part within `writeTimeoutMs`.
 */
export async function sendResponse(
  response: Response,
  res: ServerResponse,
  writeTimeoutMs: number,
): Promise<void> {
  const { status, headers, body } = partsOf(response);
  res.writeHead(status, headers);
  // A string leaves in one write with its head. With two writes, a 429 takes 8 % more CPU time.
  if (body instanceof Uint8Array) await writeSlices(body, res, writeTimeoutMs);
  else if (!(body instanceof ReadableStream)) res.end(body);
  else if (res.req.method === "HEAD") {
    res.end();
    await body.cancel();
  } else await pump(body, res, writeTimeoutMs);
  if (res.socket !== null && res.socket.writableLength > 0)
    await waitForClient(res, "finish", writeTimeoutMs);
}

interface Parts {
  readonly status: number;
  /** Names and values in turn. */
  readonly headers: string[];
  readonly body?: string | Uint8Array | ReadableStream<Uint8Array> | null;
}

function partsOf(response: Response): Parts {
  if ("_toNodeResponse" in response) return (response as FastResponse)._toNodeResponse() as Parts;
  return { status: response.status, headers: [...response.headers].flat(), body: response.body };
}

/** How much is written in one turn of the event loop, so that a long body does not delay other connections. */
const SLICE_BYTES = 256 * 1024;

async function writeSlices(body: Uint8Array, res: ServerResponse, writeTimeoutMs: number): Promise<void> {
  let start = 0;
  for (; start + SLICE_BYTES < body.length && !res.destroyed; start += SLICE_BYTES) {
    await new Promise<void>(queueWork);
    if (!res.write(body.subarray(start, start + SLICE_BYTES)))
      await waitForClient(res, "drain", writeTimeoutMs);
  }
  res.end(body.subarray(start));
}

async function pump(
  body: ReadableStream<Uint8Array>,
  res: ServerResponse,
  writeTimeoutMs: number,
): Promise<void> {
  const reader = body.getReader();
  const stop = () => void reader.cancel().catch(() => {});
  res.once("close", stop);
  // The client can have disconnected before the listener was added.
  if (res.destroyed) stop();
  try {
    for (let { done, value } = await reader.read(); !done; { done, value } = await reader.read()) {
      if (!res.write(value)) await waitForClient(res, "drain", writeTimeoutMs);
    }
    res.end();
  } catch {
    res.destroy();
  } finally {
    res.off("close", stop);
  }
}

/** Waits until the client has received what was written or has disconnected; disconnects it after the timeout. */
async function waitForClient(
  res: ServerResponse,
  event: "drain" | "finish",
  writeTimeoutMs: number,
): Promise<void> {
  const timer = setTimeout(() => res.destroy(), writeTimeoutMs);
  await waitForDrain(res, event);
  clearTimeout(timer);
}
