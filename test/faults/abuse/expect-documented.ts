import { expect } from "vitest";
import { ERRORS } from "../../../lib/http/errors.ts";

/** A response, from a socket or from a handler. */
export interface ResponseParts {
  readonly status: number;
  readonly body: string;
  header(name: string): string | undefined | null;
}

const SUCCESSES = [200, 204, 301];

/** Checks that the API documents the response. Pages, redirects and 421 carry no rate limit headers. */
export function expectDocumented(
  response: ResponseParts,
  { isHead = false, isPage = false }: { readonly isHead?: boolean; readonly isPage?: boolean } = {},
): void {
  const { status, body } = response;
  const header = (name: string) => response.header(name) ?? "";
  if (!SUCCESSES.includes(status)) {
    const codes = Object.entries(ERRORS).filter((entry) => entry[1].status === status);
    expect(codes, `a status of ${status}`).not.toEqual([]);
    expect(status, body).not.toBe(500);
    expect(header("content-type")).toBe("application/json");
    if (!isHead) {
      const parsed = JSON.parse(body);
      expect(codes.map(([code, { message }]) => ({ code, message, status }))).toContainEqual(parsed);
    }
  }
  if (isHead || status === 204) expect(body).toBe("");
  const isLimited = !isPage && status !== 301 && status !== 421;
  for (const name of ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"])
    expect(header(name), name).toMatch(isLimited ? /^\d+$/ : /^$/);
  expect(/^\d+$/.test(header("retry-after"))).toBe(status === 429 || status === 503);
  expect(header("www-authenticate") !== "").toBe(status === 401);
  expect(header("allow") !== "").toBe(status === 405);
  expect(header("x-request-id")).not.toBe("");
}
