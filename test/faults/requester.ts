/** Requests to a service whose store fails, and the checks of the responses. */
import { expect } from "vitest";

export interface ObservedResponse {
  /** 0 if the connection failed before the response. */
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** False if the connection failed within the body. */
  readonly complete: boolean;
}

export type SendRequest = (method: "GET" | "DELETE", path: string) => Promise<ObservedResponse>;

export function createRequester(url: string, key: string): SendRequest {
  return async (method, path) => {
    const headers = { authorization: `Bearer ${key}` };
    const response = await fetch(`${url}${path}`, { method, headers }).catch(() => undefined);
    if (response === undefined) return { status: 0, headers: new Headers(), text: "", complete: false };
    const text = await response.text().catch(() => undefined);
    return {
      status: response.status,
      headers: response.headers,
      text: text ?? "",
      complete: text !== undefined,
    };
  };
}

export const LIST = "/v1/store/orders";
export const orderAt = (id: number | bigint) => `${LIST}/${id}`;

const RATE_LIMIT_HEADERS = ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"];

/** Expects a 503 with the Error body, `Retry-After` and the three rate-limit headers. */
export function expectUnavailable({ status, headers, text }: ObservedResponse): void {
  expect({ status, text }).toMatchObject({ status: 503 });
  expect(JSON.parse(text)).toEqual({
    code: "store_unavailable",
    message: "The store cannot be reached. Try again later.",
    status: 503,
  });
  expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
  for (const name of RATE_LIMIT_HEADERS) expect(headers.get(name), name).toMatch(/^\d+$/);
}

/**
 * Repeats a request until the status is not 503: the service must recover by itself, within `patience` milliseconds.
 */
export async function retryWhileUnavailable(
  send: () => Promise<ObservedResponse>,
  timeoutMs = 10_000,
): Promise<ObservedResponse> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const response = await send();
    if (response.status !== 503) return response;
    expectUnavailable(response);
    expect(performance.now(), "the service did not recover").toBeLessThan(deadline);
  }
}
