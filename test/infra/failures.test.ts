import { expect, test, vi } from "vitest";
import { cloud } from "./harness/cloud.ts";
import type { Outcome } from "./harness/program.ts";
import { production, update } from "./harness/scenario.ts";

// Runs are queued, so the first test waits for all of them.
vi.setConfig({ testTimeout: 120_000 });

const PREFIX = "store-orders-production";
const withFailure = (name: string, error: string) =>
  update(production, { cloud: cloud({ failing: { [`${PREFIX}-${name}`]: error } }) });
const errors = ({ logs }: Outcome) =>
  logs.filter(({ severity }) => severity === 3).map(({ message }) => message);

const table = withFailure(
  "tables-orders",
  `creating Amazon DynamoDB Table (${PREFIX}-orders): ResourceInUseException: Table already exists`,
);
const domainName = withFailure(
  "orders-example-com-domain",
  "ConflictException: The domain name you provided already exists.",
);
const mapping = withFailure(
  "orders-example-com-mapping",
  "ConflictException: Base path already exists for this domain name",
);
const denied = withFailure("tables-orders", "AccessDeniedException: not authorized to perform CreateTable");

test("a table that exists, but is not in the state, fails the update with the way out", async () => {
  expect((await table).code).not.toBe(0);
  expect(errors(await table)[0]).toBe(
    "The table store-orders-production-orders exists, but not in the state of this stack: it belongs to something else, or an interrupted update or a lost state has left it behind. If another stack of this AWS account and region uses it, give this stack or component another name, or other names to its tables: importing would take them from that stack. Only if it belongs to this stack, import both tables. Never delete a table that has data in it. See infra/recovery.md#an-interrupted-run.",
  );
});

test("a domain name that exists, but is not in the state, fails the update with the way out", async () => {
  expect((await domainName).code).not.toBe(0);
  expect(errors(await domainName)[0]).toBe(
    "The domain name orders.example.com of API Gateway exists, but not in the state of this stack: it belongs to something else, or an interrupted update or a lost state has left it behind. If it belongs to this stack, or to another tool that is to forget it, import it. If another stack or AWS account serves the host, remove it there first. See infra/recovery.md#an-interrupted-run.",
  );
});

test("a mapping that exists, but is not in the state, fails the update with the way out", async () => {
  expect((await mapping).code).not.toBe(0);
  expect(errors(await mapping)[0]).toMatch(
    /^The mapping of the domain name orders\.example\.com exists, but not in the state .* import it\. /,
  );
});

test("another error of a table is not explained", async () => {
  expect((await denied).code).not.toBe(0);
  expect(errors(await denied).join("\n")).not.toContain("exists, but not in the state");
});
