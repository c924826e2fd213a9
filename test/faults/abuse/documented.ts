/** Whether an answer is one that the API documents (decisions 7, 11 and 12). */
import { expect } from "vitest";
import { ERRORS } from "../../../lib/errors.ts";

/** An answer, from whatever side it was seen. */
export interface Seen {
  readonly status: number;
  readonly body: string;
  header(name: string): string | undefined | null;
}

const SUCCESSES = [200, 204, 301];

/** Fails with what is wrong with it. A page, a redirect and a host that is not served say nothing of limits. */
export function isDocumented(answer: Seen, { head = false, page = false } = {}): void {
  const { status, body } = answer;
  const header = (name: string) => answer.header(name) ?? "";
  if (!SUCCESSES.includes(status)) {
    const codes = Object.entries(ERRORS).filter((entry) => entry[1].status === status);
    expect(codes, `a status of ${status}`).not.toEqual([]);
    expect(status, body).not.toBe(500);
    expect(header("content-type")).toBe("application/json");
    if (!head) {
      const told = JSON.parse(body);
      expect(codes.map(([code, { message }]) => ({ code, message, status }))).toContainEqual(told);
    }
  }
  if (head || status === 204) expect(body).toBe("");
  const isOfTheApi = !page && status !== 301 && status !== 421;
  for (const name of ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"])
    expect(header(name), name).toMatch(isOfTheApi ? /^\d+$/ : /^$/);
  expect(/^\d+$/.test(header("retry-after"))).toBe(status === 429 || status === 503);
  expect(header("www-authenticate") !== "").toBe(status === 401);
  expect(header("allow") !== "").toBe(status === 405);
  expect(header("x-request-id")).not.toBe("");
}
