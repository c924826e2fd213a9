import { get } from "node:http";

/** What one long answer took. */
export interface Download {
  /** Milliseconds until the first byte of the body. */
  readonly firstByte: number;
  /** Milliseconds until the last. */
  readonly total: number;
  readonly bytes: number;
}

/** Reads an answer to its end as fast as it comes, and keeps none of it. */
export function download(url: string, key: string): Promise<Download> {
  return new Promise((resolve, reject) => {
    const began = performance.now();
    let [firstByte, bytes] = [NaN, 0];
    const request = get(url, { headers: { authorization: `Bearer ${key}` }, agent: false }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`${url} was answered with ${response.statusCode}.`));
      response.on("data", (chunk: Buffer) => {
        if (bytes === 0) firstByte = performance.now() - began;
        bytes += chunk.length;
      });
      response.on("end", () => resolve({ firstByte, total: performance.now() - began, bytes }));
      response.on("error", reject);
    });
    request.on("error", reject);
  });
}
