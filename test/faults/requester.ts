/** Requests to a service whose store fails, and what an answer has to be then. */
import { expect } from "vitest";

/** An answer as its caller has it. */
export interface ObservedResponse {
  /** 0 where the connection broke before there was an answer. */
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** False where the connection broke in the middle of the body. */
  readonly whole: boolean;
}

/** Sends a request with a key. */
export type SendRequest = (method: "GET" | "DELETE", path: string) => Promise<ObservedResponse>;

/** Asks the service at an address. */
export function createRequester(url: string, key: string): SendRequest {
  return async (method, path) => {
    const headers = { authorization: `Bearer ${key}` };
    const answer = await fetch(`${url}${path}`, { method, headers }).catch(() => undefined);
    if (answer === undefined) return { status: 0, headers: new Headers(), text: "", whole: false };
    const text = await answer.text().catch(() => undefined);
    return { status: answer.status, headers: answer.headers, text: text ?? "", whole: text !== undefined };
  };
}

export const LIST = "/v1/store/orders";
export const orderAt = (id: number | bigint) => `${LIST}/${id}`;

const QUOTA = ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"];

/** A store that cannot be asked: 503 with the Error body, when to come back, and the three headers. */
export function expectUnavailable({ status, headers, text }: ObservedResponse): void {
  expect({ status, text }).toMatchObject({ status: 503 });
  expect(JSON.parse(text)).toEqual({
    code: "store_unavailable",
    message: "The store cannot be reached. Try again later.",
    status: 503,
  });
  expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
  for (const name of QUOTA) expect(headers.get(name), name).toMatch(/^\d+$/);
}

/** Asks until the answer is no 503 any more: the service comes back by itself. */
export async function untilServed(
  ask: () => Promise<ObservedResponse>,
  patience = 10_000,
): Promise<ObservedResponse> {
  const deadline = performance.now() + patience;
  for (;;) {
    const told = await ask();
    if (told.status !== 503) return told;
    expectUnavailable(told);
    expect(performance.now(), "the service did not come back").toBeLessThan(deadline);
  }
}
