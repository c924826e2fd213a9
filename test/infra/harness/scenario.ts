import { expect } from "vitest";
import { cloud, type Dns, type World } from "./cloud.ts";
import type { Seen } from "./engine.ts";
import { type Outcome, ofType, run, stackFile } from "./program.ts";

/** What the production stack is configured to be. */
export const production = stackFile("production");
/** A redirect to the primary. */
export const from = (name: string) => ({ from: name, to: "orders.example.com" });
/** The production stack with other domains, and what else is to be different. */
export const withDomains = (domains: unknown, more: Readonly<Record<string, unknown>> = {}) => ({
  ...production,
  "store-orders:domains": domains,
  ...more,
});
/** An update of the production stack. */
export const update = (config: Readonly<Record<string, unknown>>, world?: World) =>
  run({ stack: "production", config, cloud: cloud(world) });
/** A run that went well. */
export const ok = async (outcome: Promise<Outcome>) => {
  const seen = await outcome;
  expect({ code: seen.code, errors: seen.errors }).toEqual({ code: 0, errors: "" });
  return seen;
};
/** The hosts that have a domain name. */
export const hosts = (seen: Seen) =>
  ofType(seen, "aws:apigateway/domainName:DomainName").map(({ inputs }) => inputs["domainName"]);

/** A record that somebody else has at the primary. */
export const foreign: Dns = {
  id: "f00d",
  zone: "example.com",
  name: "orders.example.com",
  type: "A",
  content: "192.0.2.1",
  comment: "old shop",
};
/** The record that an earlier run of the stack has left there. */
export const own = { ...foreign, type: "CNAME", comment: "store-orders/production, kept by Pulumi" };
