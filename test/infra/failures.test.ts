import { expect, test } from "vitest";
import { cloud } from "./harness/cloud.ts";
import { closed, production, update } from "./harness/scenario.ts";

const TABLE = "store-orders-production-tables-orders";
const DOMAIN = "store-orders-production-orders-example-com";
const withFailure = (name: string, error: string) =>
  update(production, { cloud: cloud({ failing: { [name]: error } }) });
const NOT_OURS =
  "not in the state of this stack: it belongs to something else, or an interrupted update or a lost state has left it behind.";

const NOT_LIVE =
  "store-orders:closePlatformHost: orders.example.com is not served yet, so nothing would be. Remove the key until the host is live.";
const DENIED = "AccessDeniedException: not authorized to perform a call";
const at = cloud();
const live = update(production, { cloud: at });

test.each([
  {
    name: "a table that exists",
    run: withFailure(TABLE, "creating Amazon DynamoDB Table: ResourceInUseException: Table already exists"),
    error: `The table store-orders-production-orders exists, but ${NOT_OURS} If another stack of this AWS account and region uses it, give this stack or component another name, or other names to its tables: importing would take them from that stack. Only if it belongs to this stack, import both tables. Never delete a table that has data in it. See infra/recovery.md#an-interrupted-run.`,
  },
  {
    name: "a domain name that exists",
    run: withFailure(`${DOMAIN}-domain`, "ConflictException: The domain name you provided already exists."),
    error: `The domain name orders.example.com of API Gateway exists, but ${NOT_OURS} If it belongs to this stack, or to another tool that is to forget it, import it. If another stack or AWS account serves the host, remove it there first; if another component of this program does, see infra/domains/README.md#move-a-host-to-another-component. See infra/recovery.md#an-interrupted-run.`,
  },
  {
    name: "a mapping that exists",
    run: withFailure(`${DOMAIN}-mapping`, "ConflictException: Base path already exists for this domain name"),
    error: `The mapping of the domain name orders.example.com exists, but ${NOT_OURS} If it belongs to this stack, or to another tool that is to forget it, import it.`,
  },
  ...[TABLE, `${DOMAIN}-validation`].map((name) => {
    return { name: `${name} without a permission`, run: withFailure(name, DENIED), error: DENIED };
  }),
  {
    name: "an API Gateway hostname that is closed before the primary host is live",
    run: update({ ...production, ...closed }),
    error: NOT_LIVE,
  },
  {
    name: "an API Gateway hostname that is closed while the primary host is under 'hold'",
    run: live.then(({ state }) =>
      update({ ...production, ...closed, "store-orders:hold": ["orders.example.com"] }, { cloud: at, state }),
    ),
    error: NOT_LIVE,
  },
])("$name fails the update with the way out", async ({ run, error }) => {
  const { code, logs, errors } = await run;
  expect(code).not.toBe(0);
  const [first] = logs.filter(({ severity }) => severity === 3);
  expect((first?.message ?? errors).slice(0, error.length)).toBe(error);
});
