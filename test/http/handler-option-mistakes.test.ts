import { expect, test } from "vitest";
import type { InvalidInputError } from "../../lib/core/errors.ts";
import { createHandler } from "../../lib/http/handler.ts";
import { OPERATIONS } from "../../lib/http/operations.ts";
import type { HandlerOptions } from "../../lib/http/options.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";

/** The issues of options, each as "path: message". */
function problemsOf(options: unknown): readonly string[] {
  try {
    createHandler(options as HandlerOptions);
    return [];
  } catch (error) {
    return (error as InvalidInputError).issues.map(({ path, message }) => `${path}: ${message}`);
  }
}

const issuesOf = (options: object) =>
  problemsOf({ store: createMemoryStore(), ...options }).map((problem) => problem.split(": ", 1)[0]);

test.each([
  [{ title: "A", contact: { name: "A", url: "https://a.example", email: "a@a.example" } }, []],
  [{ description: "Ours." }, []],
  [{ title: "A", version: "2.0.0" }, ["version"]],
  [{ contact: { mail: "a@a.example", name: "A" } }, ["contact.mail"]],
  [{ contact: { title: "A" } }, ["contact.title"]],
])("the openapi option %j has the issues %j", (openapi, fields) => {
  expect(issuesOf({ openapi })).toEqual(fields.map((field) => `openapi.${field}`));
});

const DAY_MS = 86_400_000;

test.each([
  // As from variables that are not set.
  [{ maxRejections: Number.NaN, durationMs: Number.NaN }, ["maxRejections", "durationMs"]],
  [{ maxRejections: "20", durationMs: 0 }, ["maxRejections", "durationMs"]],
  [{ maxRejections: 20 }, ["durationMs"]],
  [{ maxRejections: 0, durationMs: 1 }, []],
  // Not every store could keep a longer ban.
  [{ maxRejections: 1, durationMs: 90 * DAY_MS }, []],
  [{ maxRejections: 1, durationMs: 90 * DAY_MS + 1 }, ["durationMs"]],
])("the ban policy %j has the issues %j", (banPolicy, fields) => {
  expect(issuesOf({ banPolicy })).toEqual(fields.map((field) => `banPolicy.${field}`));
});

test.each([
  "",
  " https://docs.example.com/",
  "https://docs.example.com/\n",
  "https://docs.example.com/→",
  "https://a.example/>; rel=next",
])("a docsUrl that no Link header can contain is reported at startup: %j", (docsUrl) => {
  expect(issuesOf({ openapi: { docsUrl } })).toEqual(["openapi.docsUrl"]);
});

const NO_DATE = "Use a date-time with an offset, such as 2027-06-01T00:00:00Z.";

test.each([
  [{ since: "soon", sunset: "" }, [`since: ${NO_DATE}`, `sunset: ${NO_DATE}`]],
  [{ since: "2026-06-01T00:00:00Z", sunset: "2027-13-01T00:00:00Z" }, [`sunset: ${NO_DATE}`]],
  // Each process would read it in the time zone of its machine.
  [{ since: "2026-06-01T00:00:00", sunset: "2027-06-01" }, [`since: ${NO_DATE}`, `sunset: ${NO_DATE}`]],
  [{ since: "2026-06-01T00:00:00Z", sunset: "2026-05-01T00:00:00Z" }, ["sunset: Use a time after since."]],
  [
    { since: "2026-06-01T00:00:00Z", sunset: "2027-06-01T00:00:00Z", link: "" },
    [
      "link: Use a URL, such as https://docs.example.com, with all other characters percent-encoded, or leave it out.",
    ],
  ],
  [{ since: "2026-06-01T00:00:00Z", sunset: "2026-06-01T00:00:00Z", link: "/docs" }, []],
])("a deprecation that no header can contain is reported at startup: %j", (deprecation, problems) => {
  const operations = OPERATIONS.map((operation, index) =>
    index === 0 ? { ...operation, deprecation } : operation,
  );
  expect(problemsOf({ store: createMemoryStore(), operations })).toEqual(
    problems.map((problem) => `operations[0].deprecation.${problem}`),
  );
});

const { orders, accounts, check } = createMemoryStore();

test.each([
  ["corsOrigin", "corsOrigins"],
  ["basepath", "basePath"],
  ["corsAllowed", "corsOrigins"],
])("an option '%s' is reported at startup, with '%s'", (name, meant) => {
  const [problem] = problemsOf({ store: { orders, accounts, check }, [name]: [] });
  expect(problem).toBe(`${name}: There is no option of this name. Did you mean '${meant}'?`);
});

test("options that resemble none are reported with all that there are", () => {
  expect(problemsOf({ store: { orders, accounts, check }, port: 80, tls: {} })).toEqual([
    expect.stringMatching(/^port: .* Use one of: store, clock, .*onRequest\.$/),
    expect.stringMatching(/^tls: /),
  ]);
});

test("hosts that are no function are reported at startup", () => {
  const problems = problemsOf({ store: createMemoryStore(), hosts: {} });
  expect(problems).toEqual(["hosts: Pass a function: () => table."]);
});

test("every option is known", () => {
  const { store: _, ...names }: Record<keyof HandlerOptions, undefined> = {
    ...{ store: undefined, clock: undefined, banPolicy: undefined, plans: undefined },
    ...{ cacheRejections: undefined, keys: undefined, enforce: undefined, pets: undefined },
    ...{ operations: undefined, openapi: undefined },
    ...{ basePath: undefined, corsOrigins: undefined, hosts: undefined, documents: undefined },
    ...{ onTransition: undefined, onHookError: undefined, onRequest: undefined },
  };
  expect(issuesOf(names)).toEqual([]);
});

test.each([
  ...["", "pets", "/", "/pets/", "//pets", "/pets?a"],
  ...["/pets/{id", "/pets/id}", "/pets/{}", "/pets/a{id}", "/pets/{1}"],
])("the path %j of an operation is reported with one that is valid", (path) => {
  const [, cancelOrder] = OPERATIONS;
  const parameters = { id: { description: "A." }, "1": { description: "B." } };
  const operations = [{ ...cancelOrder, path, parameters }];
  expect(problemsOf({ store: createMemoryStore(), operations })).toContain(
    "operations[0].path: Use a path such as /store/orders/{orderId}, without a slash at the end. The name of a parameter begins with a letter.",
  );
});

test.each([
  [{ plans: { free: 60 } }, ["plans.free.perMinute", "plans.free.perDay"]],
  [{ corsOrigins: [null, 5, {}] }, ["corsOrigins[0]", "corsOrigins[1]", "corsOrigins[2]"]],
])("values inside of an option that have the wrong type are reported at startup: %j", (options, paths) => {
  expect(issuesOf(options)).toEqual(paths);
});
