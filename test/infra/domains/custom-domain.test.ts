import { describe, expect, test } from "vitest";
import { cloud } from "../harness/cloud.ts";
import type { Recording } from "../harness/engine.ts";
import { ofType } from "../harness/program.ts";
import { production, redirectFrom, success, update, withDomains } from "../harness/scenario.ts";

const DOMAIN = "aws:apigateway/domainName:DomainName";
const FUNCTION = "aws:lambda/function:Function";
const oneCloud = cloud();

const oneMoreHost = update(
  withDomains({
    primary: "orders.example.com",
    aliases: ["buy.example.com"],
    redirects: [redirectFrom("www.orders.example.com")],
  }),
  { cloud: oneCloud },
);

/** The next update, without the alias. */
const standard = oneMoreHost.then(({ state }) => update(production, { cloud: oneCloud, state }));

test("a stack can have sixty redirects", async () => {
  const redirects = Array.from({ length: 60 }, (_, index) => redirectFrom(`shop-${index}.example.com`));
  const outcome = await success(update(withDomains({ primary: "orders.example.com", redirects })));
  expect(ofType(outcome, DOMAIN)).toHaveLength(61);
});

describe("a change of one host", () => {
  /** The resources that depend on the list of hosts. */
  const dependents = (recording: Recording) => ofType(recording, FUNCTION).map(({ urn }) => urn);
  const inputsOf = ({ registrations }: Recording) =>
    new Map(registrations.map(({ urn, inputs }) => [urn, inputs]));

  test("adding a host changes no other name or input", async () => {
    const [before, after] = [await success(standard), await success(oneMoreHost)];
    const inputsAfter = inputsOf(after);
    for (const [urn, inputs] of inputsOf(before)) {
      if (!dependents(before).includes(urn)) expect(inputsAfter.get(urn), urn).toEqual(inputs);
    }
    const added = after.registrations.filter(({ urn }) => !inputsOf(before).has(urn));
    const parts = ["", "-certificate", "-certificate", "-domain", "-mapping", "-route", "-validation"];
    expect(added.map(({ name }) => name).sort()).toEqual(
      [...parts, "-validation-record"].map((part) => `store-orders-production-buy-example-com${part}`),
    );
  });

  test("removing a host updates the functions first and deletes the routing record before everything it depends on", async () => {
    const [before, after] = [await success(oneMoreHost), await success(standard)];
    for (const { inputs } of ofType(after, FUNCTION)) {
      expect(JSON.stringify(inputs["environment"])).not.toContain("buy.example.com");
    }
    const removed = before.registrations.filter(({ urn }) => !inputsOf(after).has(urn));
    for (const { name } of removed) expect(name).toMatch(/^store-orders-production-buy-example-com/);
    const deleted = [...after.operations].filter(([, operation]) => operation === "delete");
    const names = deleted.map(([urn]) => urn).filter((urn) => !urn.includes("MetricAlarm"));
    expect(names.map((urn) => urn.split("::").at(-1))).toEqual(
      ["route", "mapping", "domain", "validation", "validation-record", "certificate"].map(
        (part) => `store-orders-production-buy-example-com-${part}`,
      ),
    );
    expect(removed.filter(({ protect, retainOnDelete }) => protect || retainOnDelete)).toEqual([]);
  });
});
