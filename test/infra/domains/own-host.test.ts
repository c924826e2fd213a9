import { expect, test } from "vitest";
import { cloud } from "../harness/cloud.ts";
import { find, type Outcome, ofType, run } from "../harness/program.ts";
import { success } from "../harness/scenario.ts";

const HOST = "hello.example.org";
/** Runs a program that gives an API of its own a host with manual DNS. */
const update = (settings: object, certificate?: { readonly of: Outcome }) => {
  const tags = certificate && find(certificate.of, "hello-certificate").inputs["tags"];
  const certificates = tags === undefined ? [] : [{ host: HOST, status: "ISSUED", tags }];
  return success(
    run({
      program: "test/infra/programs/own-host.ts",
      stack: "production",
      config: { "own-host:host": HOST, "own-host:settings": { dns: "manual", ...settings } },
      cloud: cloud({ certificates }),
      ...(certificate && { state: certificate.of.state }),
    }),
  );
};
const domains = (outcome: Outcome) => ofType(outcome, "aws:apigateway/domainName:DomainName");

test.each([
  ["", {}, "store-orders/production"],
  [" of a renamed stack", { renamedFrom: "2026" }, "store-orders/2026"],
])("a host%s with manual DNS gets its domain once its certificate is issued", async (_, settings, owner) => {
  const first = await update(settings);
  expect(domains(first)).toEqual([]);
  expect(find(first, "hello-certificate").inputs["tags"]).toMatchObject({ "store-orders:stack": owner });
  const next = await update(settings, { of: first });
  expect(domains(next)).toHaveLength(1);
});
