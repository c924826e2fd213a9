import { expect, test } from "vitest";
import { createHandler } from "../../lib/http/handler.ts";
import type { HandlerOptions } from "../../lib/http/handler-options.ts";
import { OPERATIONS } from "../../lib/http/operations.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";

/** The paths of what is wrong with options. */
function issuesOf(options: object): readonly string[] {
  try {
    createHandler({ store: createMemoryStore(), ...(options as Partial<HandlerOptions>) });
    return [];
  } catch (error) {
    return (error as { issues: { path: string }[] }).issues.map(({ path }) => path);
  }
}

test("a ban policy that could never ban, as from variables that are not set, is reported at startup", () => {
  expect(issuesOf({ banPolicy: { maxRejections: Number.NaN, durationMs: Number.NaN } })).toEqual([
    "banPolicy.maxRejections",
    "banPolicy.durationMs",
  ]);
  expect(issuesOf({ banPolicy: { maxRejections: "20", durationMs: 0 } })).toHaveLength(2);
  expect(issuesOf({ banPolicy: { maxRejections: 20 } })).toEqual(["banPolicy.durationMs"]);
  expect(issuesOf({ banPolicy: { maxRejections: 0, durationMs: 1 } })).toEqual([]);
});

test.each(["", "https://docs.example.com/\n", "https://docs.example.com/→", "https://a.example/>; rel=next"])(
  "a docsUrl that no Link header can contain is reported at startup: %j",
  (docsUrl) => {
    expect(issuesOf({ docsUrl })).toEqual(["docsUrl"]);
  },
);

test.each([
  [{ since: "soon", sunset: "" }, ["since", "sunset"]],
  [{ since: "2026-06-01T00:00:00Z", sunset: "2027-02-31T00:00:00Z" }, ["sunset"]],
  [{ since: "2026-06-01T00:00:00Z", sunset: "2026-05-01T00:00:00Z" }, ["sunset"]],
  [{ since: "2026-06-01T00:00:00Z", sunset: "2027-06-01T00:00:00Z", link: "" }, ["link"]],
  [{ since: "2026-06-01T00:00:00Z", sunset: "2026-06-01T00:00:00Z", link: "/docs" }, []],
])(
  "a deprecation with dates or a link that no header can contain is reported at startup: %j",
  (deprecation, names) => {
    const operations = OPERATIONS.map((operation, index) =>
      index === 0 ? { ...operation, deprecation } : operation,
    );
    expect(issuesOf({ operations })).toEqual(names.map((name) => `operations[0].deprecation.${name}`));
  },
);
