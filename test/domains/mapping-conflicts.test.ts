import { describe, test } from "vitest";
import { expectIssues } from "./mapping-errors-fixture.ts";

const P = "primary: orders.example.com";

describe("a mapping whose hosts contradict each other", () => {
  test.each<[string, string, Record<string, string>]>([
    [
      "the primary among the aliases",
      `${P}\naliases: [ORDERS.example.com.]`,
      {
        "domains.aliases[0]":
          "orders.example.com is listed twice, first at domains.primary. Remove one of the two.",
      },
    ],
    [
      "an alias in two scripts",
      `${P}\naliases: [bücher.example.com, xn--bcher-kva.example.com]`,
      {
        "domains.aliases[1]":
          "xn--bcher-kva.example.com is listed twice, first at domains.aliases[0]. Remove one of the two.",
      },
    ],
    [
      "two redirects from the same host",
      `${P}\nredirects: [{ from: www.example.com, to: orders.example.com }, { from: WWW.example.com, to: orders.example.com }]`,
      {
        "domains.redirects[1].from":
          "www.example.com is listed twice, first at domains.redirects[0].from. Remove one of the two.",
      },
    ],
    [
      "an alias that also redirects",
      `${P}\naliases: [www.example.com]\nredirects: [{ from: www.example.com, to: orders.example.com }]`,
      {
        "domains.redirects[0].from":
          "www.example.com is listed twice, first at domains.aliases[0]. Remove one of the two.",
      },
    ],
    [
      "a redirect to itself",
      `${P}\nredirects: [{ from: www.example.com, to: WWW.example.com. }]`,
      {
        "domains.redirects[0].to":
          "www.example.com redirects to itself. Redirect it to the primary, orders.example.com.",
      },
    ],
    [
      "a redirect from the primary",
      `${P}\nredirects: [{ from: orders.example.com, to: www.example.com }]`,
      {
        "domains.redirects[0].from":
          "orders.example.com is the primary, which cannot redirect. Remove this redirect, or choose another primary.",
      },
    ],
    [
      "a redirect from the primary to itself",
      `${P}\nredirects: [{ from: orders.example.com, to: orders.example.com }]`,
      {
        "domains.redirects[0].from":
          "orders.example.com is the primary, which cannot redirect. Remove this redirect, or choose another primary.",
      },
    ],
    [
      "a redirect to a host outside the mapping",
      `${P}\nredirects: [{ from: www.example.com, to: evil.example.org }]`,
      {
        "domains.redirects[0].to": "A host can redirect only to the primary. Write orders.example.com.",
      },
    ],
    [
      "a redirect to an alias",
      `${P}\naliases: [a.example.com]\nredirects: [{ from: www.example.com, to: a.example.com }]`,
      {
        "domains.redirects[0].to": "A host can redirect only to the primary. Write orders.example.com.",
      },
    ],
    [
      "a chain of redirects",
      `${P}\nredirects: [{ from: a.example.com, to: b.example.com }, { from: b.example.com, to: orders.example.com }]`,
      {
        "domains.redirects[0].to": "A host can redirect only to the primary. Write orders.example.com.",
      },
    ],
    [
      "a loop of two",
      `${P}\nredirects: [{ from: a.example.com, to: b.example.com }, { from: b.example.com, to: a.example.com }]`,
      {
        "domains.redirects[0].to": "A host can redirect only to the primary. Write orders.example.com.",
        "domains.redirects[1].to": "A host can redirect only to the primary. Write orders.example.com.",
      },
    ],
    [
      "a loop through the primary",
      `${P}\nredirects: [{ from: www.example.com, to: orders.example.com }, { from: orders.example.com, to: www.example.com }]`,
      {
        "domains.redirects[1].from":
          "orders.example.com is the primary, which cannot redirect. Remove this redirect, or choose another primary.",
      },
    ],
    [
      "a redirect into a loop",
      `${P}\nredirects: [{ from: x.example.com, to: a.example.com }, { from: a.example.com, to: a.example.com }]`,
      {
        "domains.redirects[0].to": "A host can redirect only to the primary. Write orders.example.com.",
        "domains.redirects[1].to":
          "a.example.com redirects to itself. Redirect it to the primary, orders.example.com.",
      },
    ],
  ])("a mapping with %s is rejected with the path and the fix", (_, yaml, expected) =>
    expectIssues(yaml, expected),
  );
});
