import { expect, test } from "vitest";
import { createStackFileSnippet } from "../../../lib/console/domains/stack.ts";

const HOSTS = [
  { host: "orders.example.com", role: "primary" },
  { host: "www.example.com", role: "redirect" },
] as const;

test("an addition and a removal give the lines of the whole mapping, as the stack file needs them", () => {
  expect(
    createStackFileSnippet(HOSTS, { kind: "add", host: "API.example.com.", role: "alias" }),
  ).toMatchObject({
    ok: true,
    lines: `config:
  store-orders:domains:
    primary: orders.example.com
    aliases: [api.example.com]
    redirects:
      - { from: www.example.com, to: orders.example.com, status: 301 }`,
  });
  expect(createStackFileSnippet(HOSTS, { kind: "remove", host: "www.example.com" })).toMatchObject({
    lines: "config:\n  store-orders:domains:\n    primary: orders.example.com",
  });
  expect(
    createStackFileSnippet(HOSTS.slice(0, 1), { kind: "remove", host: "orders.example.com" }),
  ).toMatchObject({
    lines: "config:\n  store-orders:domains: {}",
  });
});

test.each([
  [{ kind: "add", host: "www.example.com", role: "alias" }, "www.example.com is listed twice"],
  [{ kind: "add", host: "a b", role: "redirect" }, 'A hostname cannot contain " ".'],
  [{ kind: "remove", host: "orders.example.com" }, "Write the primary"],
] as const)("a change that the rules of domains reject gives no lines: %j", (change, message) => {
  const result = createStackFileSnippet(HOSTS, change);
  expect(!result.ok && result.issues.map((issue) => issue.message).join()).toContain(message);
});
