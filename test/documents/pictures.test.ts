import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { HostFacts } from "../../lib/domains/status/facts.ts";
import { ATTENTION_REASONS, addHost, HOST_STATES, nextStatus } from "../../lib/domains/status/status.ts";
import { ERRORS } from "../../lib/http/errors.ts";
import { OPERATIONS } from "../../lib/http/operations.ts";
import * as everything from "../../lib/index.ts";
import { LIFECYCLE } from "../../lib/orders/lifecycle.ts";
import { codeBlocks, DOCUMENTS, document, listedCommands, ROOT, table } from "./markdown.ts";

const pictures = (path: string) => codeBlocks(document(path), "mermaid");

/** The arrows of a state diagram that begin in a state: `from --> to: event, event`. */
function arrows(picture: string): ReadonlySet<string> {
  const found = [...picture.matchAll(/^ {2}(\w+) --> (\w+): (.+)$/gm)];
  return new Set(
    found.flatMap(([, from, to, events = ""]) => events.split(", ").map((event) => `${from} ${event} ${to}`)),
  );
}

describe("pictures", () => {
  test("the life cycle of an order, as a table and as a picture, is that of the code", () => {
    const cells = Object.entries(LIFECYCLE.table).map(([status, rules]) => [
      status,
      ...Object.values(rules).map((rule: { to?: string; error?: string }) => rule.to ?? rule.error),
    ]);
    expect.soft(table("lib/README.md", "status", ...LIFECYCLE.events).rows).toEqual(cells);
    const [picture = ""] = pictures("lib/README.md").filter((each) => each.startsWith("stateDiagram"));
    const moves = Object.entries(LIFECYCLE.table).flatMap(([from, rules]) =>
      Object.entries(rules).flatMap(([event, rule]) => ("to" in rule ? [`${from} ${event} ${rule.to}`] : [])),
    );
    expect(arrows(picture)).toEqual(new Set(moves));
  });

  test("the states of a domain, and what leads from one to another, are those of the code", () => {
    const [picture = ""] = pictures("lib/domains/README.md");
    const right = { dns: "ok", certificate: "allowed" } as const;
    const facts: Readonly<Record<string, HostFacts>> = {
      record_right: right,
      caa_unanswered: { ...right, certificate: "unknown" },
      caa_forbids: { ...right, certificate: "forbidden" },
      record_wrong: { dns: "missing" },
      certificate_served: { ...right, served: { outcome: "valid" } },
      other_certificate_served: { ...right, served: { outcome: "invalid" } },
      authority_issued: { authority: "issued" },
      authority_rejected: { authority: "rejected" },
    };
    const statuses = HOST_STATES.flatMap((state) => {
      const status = { ...addHost("orders.example.com", 0), state };
      const verified = state === "pending_dns" ? status : { ...status, verifiedAt: 0 };
      if (state !== "needs_attention") return [verified];
      return ATTENTION_REASONS.map((attention) => ({ ...verified, attention }));
    });
    const moves = statuses.flatMap((status) =>
      Object.entries(facts).flatMap(([name, seen]) => {
        const { state } = nextStatus(status, seen, 1);
        return state === status.state ? [] : [`${status.state} ${name} ${state}`];
      }),
    );
    const timed = [...arrows(picture)].filter((arrow) => !/ (too_late|30_minutes|72_hours) /.test(arrow));
    expect(new Set(timed)).toEqual(new Set(moves));
  });

  test("every error, with its status, is in the table once and in what a request passes, which names every operation", () => {
    const { rows } = table("lib/README.md", "code", "status");
    const byStatus = Object.entries(ERRORS).toSorted(([, a], [, b]) => a.status - b.status);
    expect
      .soft(rows.map(([code, status]) => [code, Number(status)]))
      .toEqual(byStatus.map(([code, { status }]) => [code, status]));
    expect.soft(rows.filter(([, , advice = ""]) => advice === "")).toEqual([]);
    const [section = ""] =
      /^## What a request passes\n.*?(?=^## )/ms.exec(document("lib/README.md").text) ?? [];
    const named = section.matchAll(/\b([45]\d\d) `?([a-z]+(?:_[a-z]+)*)/g);
    expect(new Set([...named].map(([, status, code]) => `${status} ${code}`))).toEqual(
      new Set(Object.entries(ERRORS).map(([code, { status }]) => `${status} ${code}`)),
    );
    expect(OPERATIONS.filter(({ id }) => !section.includes(id))).toEqual([]);
  });

  test("functions, entry points and commands in a picture exist", () => {
    const { exports } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
    const known = new Set([
      ...Object.keys(everything),
      ...OPERATIONS.map(({ id }) => id),
      "createHandler",
      ...Object.keys(exports).map((entry) => entry.replace(".", "store-orders")),
      ...listedCommands(),
    ]);
    const named = DOCUMENTS.flatMap((each) => codeBlocks(each, "mermaid")).flatMap((picture) => [
      ...(picture.match(/\b(?:store-orders\/\w+|changes \w+)\b/g) ?? []),
      ...(picture.match(/\b[a-z]+[A-Z]\w*\b(?=[("<,])/g) ?? []).filter((name) => name !== "stateDiagram"),
    ]);
    expect(named).toContain("deliverChanges");
    expect(named.filter((name) => !known.has(name))).toEqual([]);
  });
});
