import { get } from "node:http";

/** The measurement of a download. */
export interface Download {
  /** Milliseconds until the first byte of the body. */
  readonly firstByte: number;
  /** Milliseconds until the last. */
  readonly total: number;
  readonly bytes: number;
}

/** Reads a response to its end as fast as possible, and discards it. */
export function download(url: string, key: string): Promise<Download> {
  return new Promise((resolve, reject) => {
    const startedAt = performance.now();
    let [firstByte, bytes] = [NaN, 0];
    const request = get(url, { headers: { authorization: `Bearer ${key}` }, agent: false }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`${url} returned ${response.statusCode}.`));
      response.on("data", (chunk: Buffer) => {
        if (bytes === 0) firstByte = performance.now() - startedAt;
        bytes += chunk.length;
      });
      response.on("end", () => resolve({ firstByte, total: performance.now() - startedAt, bytes }));
      response.on("error", reject);
    });
    request.on("error", reject);
  });
}
