import { describe, expect, test } from "vitest";
import { checkRequest, type RequestOrigin } from "../../lib/console/request-guard.ts";

const OWN = { method: "GET", host: "127.0.0.1:8790", origin: undefined, fetchSite: "same-origin" } as const;
const check = (changes: Partial<RequestOrigin>, isEntry = false) =>
  checkRequest({ ...OWN, ...changes }, 8790, isEntry);

describe("the host", () => {
  test.each(["127.0.0.1:8790", "localhost:8790"])("%s is the console's own name", (host) => {
    expect(check({ host })).toBeUndefined();
  });

  test.each([
    undefined,
    "",
    "127.0.0.1",
    "127.0.0.1:8791",
    "localhost",
    "localhost.:8790",
    "rebound.example.com:8790",
    "127.0.0.1.example.com:8790",
    "[::1]:8790",
    "0.0.0.0:8790",
  ])("%s is another name, as a rebound DNS name would be", (host) => {
    expect(check({ host })).toBe("wrong_host");
  });
});

describe("the origin", () => {
  const change = { method: "POST", origin: "http://127.0.0.1:8790" };

  test("a change comes from the console's own page", () => {
    expect(check(change)).toBeUndefined();
    expect(check({ ...change, fetchSite: undefined })).toBeUndefined();
  });

  test.each([undefined, "null", "https://example.com", "http://127.0.0.1:8791", "http://localhost:8790"])(
    "a change with the origin %s is rejected",
    (origin) => {
      expect(check({ ...change, origin })).toBe("wrong_origin");
    },
  );

  test.each(["cross-site", "same-site", "none"])("a change from a %s page is rejected", (fetchSite) => {
    expect(check({ ...change, fetchSite })).toBe("wrong_origin");
  });

  test.each(["cross-site", "same-site"])("only the entry can be reached from a %s page", (fetchSite) => {
    expect(check({ fetchSite })).toBe("wrong_origin");
    expect(check({ fetchSite }, true)).toBeUndefined();
    expect(check({ ...change, fetchSite }, true)).toBe("wrong_origin");
  });

  test("a page that the user typed is served", () => {
    expect(check({ fetchSite: "none" })).toBeUndefined();
  });
});

test.each(["PUT", "DELETE", "OPTIONS", "TRACE"])("the method %s is unknown", (method) => {
  expect(check({ method })).toBe("wrong_method");
});
