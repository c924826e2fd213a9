import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { settingsSchema } from "../../infra/config/schema.ts";
import { PERMISSIONS } from "../../infra/functions/permissions.ts";
import type { HostReport } from "../../lib/domains/status/verify.ts";
import { OPERATIONS } from "../../lib/http/operations.ts";
import { DEFAULT_CONNECTION_LIMITS } from "../../lib/node/limits.ts";
import { ORDER_FIELDS } from "../../lib/orders/order.ts";
import { PLAN_LIMITS } from "../../lib/plans/plan-limits.ts";
import { ROOT, settingRows, table } from "./markdown.ts";

describe("rules", () => {
  test("the fields of an order are listed in the order in which they are sent", () => {
    expect(table("lib/README.md", "field", "JSON type").rows.map(([field]) => field)).toEqual(
      Object.keys(ORDER_FIELDS),
    );
  });

  test("every operation is listed with its method, its path and its status", () => {
    const { rows } = table("lib/README.md", "operation", "request");
    expect(rows.map(([id, request]) => [id, request])).toEqual(
      OPERATIONS.map(({ id, method, path }) => [id, `${method} /v1${path}`]),
    );
    for (const [index, { success }] of OPERATIONS.entries()) {
      expect(rows[index]?.[2]).toMatch(new RegExp(`^${success.status}\\b`));
    }
  });

  for (const path of ["README.md", "lib/README.md"]) {
    test(`the limits of the plans in ${path} match the code`, () => {
      const expected = Object.entries(PLAN_LIMITS).map(([plan, limits]) =>
        limits === "custom" ? [plan, "custom", "custom"] : [plan, `${limits.perMinute}`, `${limits.perDay}`],
      );
      expect(table(path, "plan", "requests per minute", "requests per day").rows).toEqual(expected);
    });
  }
});

describe("custom domains", () => {
  test("every property of a report is listed", () => {
    const { rows } = table("lib/domains/README.md", "property", "content");
    // The type checker says if one is missing.
    const properties = {
      ...{ host: true, role: true, state: true, attention: true, dns: true, certificate: true, found: true },
      ...{ reasons: true, notes: true, records: true, advice: true, stack: true },
    } satisfies Record<keyof HostReport, true>;
    expect(rows.flatMap(([names = ""]) => names.split(", "))).toEqual(Object.keys(properties));
  });
});

describe("settings", () => {
  test("every stack setting is listed with its default", () => {
    const documented = new Map(settingRows().map(([key = "", , fallback]) => [key, fallback]));
    const defaults = settingsSchema.parse({});
    const expected = Object.keys(settingsSchema.shape).flatMap((key): readonly (readonly string[])[] => {
      const fallback: unknown = defaults[key as keyof typeof defaults];
      return documented.has(key) ? [[key, shown(fallback)]] : fieldsOf(key, fallback);
    });
    expect([...documented].toSorted()).toEqual(expected.toSorted());
  });

  test("every option of createHandler, and every field of its context, is listed", () => {
    const read = (file: string) => readFileSync(join(ROOT, "lib/http", file), "utf8");
    const source = read("options.ts") + read("request.ts");
    const membersOf = (name: string) => {
      const [, body = ""] = new RegExp(`interface ${name} \\{\\n([\\s\\S]*?)\\n\\}`).exec(source) ?? [];
      return [...body.matchAll(/^ {2}readonly (\w+)\??:/gm)].map(([, member]) => member);
    };
    const listed = (header: string) =>
      table("lib/http/README.md", header, "meaning").rows.map(([name]) => name);
    expect(membersOf("HandlerOptions")).toContain("store");
    expect(listed("option").toSorted()).toEqual(membersOf("HandlerOptions").toSorted());
    expect(listed("field").toSorted()).toEqual(membersOf("RequestContext").toSorted());
  });

  test("every connection limit is listed with its default", () => {
    const { rows } = table("lib/node/README.md", "limit", "meaning", "default");
    expect(rows.map(([limit, , fallback]) => [limit, Number(fallback)])).toEqual(
      Object.entries(DEFAULT_CONNECTION_LIMITS),
    );
  });

  test("the documented DynamoDB calls of each function match its role", () => {
    const calls = (names: readonly string[]) => names.map((name) => name.replace("dynamodb:", "")).join(", ");
    expect(table("infra/README.md", "function", "orders table", "accounts table").rows).toEqual(
      Object.entries(PERMISSIONS).map(([role, { orders, accounts }]) => [
        role,
        calls(orders),
        calls(accounts),
      ]),
    );
  });
});

test("the scenarios of a live stack name the tests that cover them, or say why none does", () => {
  const { rows } = table("test/README.md", "scenario", "with Pulumi's engine", "test");
  expect(rows.length).toBeGreaterThan(10);
  for (const [scenario, , covered = ""] of rows) {
    const [, file, title = ""] = /^([\w/-]+): ([^;]+)/.exec(covered) ?? [];
    if (file === "none") continue;
    const source = readFileSync(join(ROOT, `test/infra/${file}.test.ts`), "utf8");
    const titles = [
      ...source.matchAll(/\b(?:(?:test|describe)(?:\.each\(\w+\))?\(\s*|name: )"([^"]+)"/g),
    ].map(([, each = ""]) => each);
    expect(
      titles.filter((each) => each.includes(title)),
      `${scenario}: ${title}`,
    ).toHaveLength(1);
  }
});

/** A default as the table shows it. */
function shown(value: unknown): string {
  const empty = value === undefined || (typeof value === "object" && Object.keys(value ?? {}).length === 0);
  return empty ? "none" : String(value);
}

/** The rows of a setting that has fields: one for each, as it is written in a stack file. */
function fieldsOf(key: string, fallback: unknown): readonly (readonly string[])[] {
  const written = z.toJSONSchema(settingsSchema, { io: "input", unrepresentable: "any" }).properties?.[key];
  const fields = (written as { properties?: Record<string, { default?: unknown }> }).properties ?? {};
  if (Object.keys(fields).length === 0) return [[key, shown(fallback)]];
  return Object.entries(fields).map(([field, { default: value }]) => [`${key}.${field}`, shown(value)]);
}
