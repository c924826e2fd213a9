import { expect, test } from "vitest";
import { update } from "../harness/scenario.ts";
import { earlierState } from "../harness/states.ts";

// Their records are not in this cloud.
const state = new Map([...earlierState("program")].filter(([urn]) => !urn.includes("DnsRecord")));

test.each([
  [{}, state, /serves orders\.example\.com.*\n +If Pulumi\.production\.yaml is missing/, /^$/],
  [{ "store-orders:plan": "pro" }, state, /^$/, /domainName:DomainName::[\w-]+,delete/],
  [{}, new Map(), /^$/, /table:Table::[\w-]+,create/],
])("an update with %j deletes hosts only if there are any", async (settings, state, error, done) => {
  const { errors, operations } = await update({ "store-orders:resolver": undefined, ...settings }, { state });
  expect(errors).toMatch(error);
  expect([...operations].join()).toMatch(done);
});
