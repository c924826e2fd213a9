import { expect } from "vitest";
import { cloud } from "./cloud.ts";
import type { ZoneRecord } from "./dns-records.ts";
import type { Recording } from "./engine.ts";
import { type Outcome, ofType, type RunOptions, run, stackFile } from "./program.ts";

export const production = stackFile("production");
/** The same with every setting that adds something, and one that changes the shape of the API. */
export const everything = {
  ...production,
  "store-orders:accessLogs": "account",
  "store-orders:alarmEmail": "ops@example.com",
  "store-orders:events": { bus: "default" },
  "store-orders:permissionsBoundary": "arn:aws:iam::123456789012:policy/limits/of-orders",
  "store-orders:plans": { trial: "custom" },
  "store-orders:reservedConcurrency": 20,
  "store-orders:tags": { team: "shop" },
  "store-orders:timeoutSeconds": 60,
  "store-orders:waf": { requestsPerFiveMinutes: 3_000 },
};
export const redirectFrom = (name: string) => ({ from: name, to: "orders.example.com" });
/** The configuration of the production stack with other domains and other changes. */
export const withDomains = (domains: unknown, more: Readonly<Record<string, unknown>> = {}) => ({
  ...production,
  "store-orders:domains": domains,
  ...more,
});
export const update = (
  config: Readonly<Record<string, unknown>>,
  options: Partial<Pick<RunOptions, "cloud" | "state" | "dns" | "preview">> = {},
) => run({ stack: "production", config, cloud: cloud(), ...options });
export const success = async (run: Promise<Outcome>) => {
  const outcome = await run;
  expect({ code: outcome.code, errors: outcome.errors }).toEqual({ code: 0, errors: "" });
  return outcome;
};
/** What a run has logged of a severity: 2 is a warning, 3 an error. */
export const messages = ({ logs }: Outcome, wanted: number) =>
  logs.flatMap(({ severity, message }) => (severity === wanted ? [message] : []));
/** The hosts for which a run created a domain name. */
export const domainNames = (recording: Recording) =>
  ofType(recording, "aws:apigateway/domainName:DomainName").map(({ inputs }) => inputs["domainName"]);

/** A record at the primary host that the stack did not create. */
export const foreignRecord: ZoneRecord = {
  id: "f00d",
  zone: "example.com",
  name: "orders.example.com",
  type: "A",
  content: "192.0.2.1",
  comment: "old shop",
};

/** Closes the API Gateway hostname, for which a host has to be live. */
export const closed = { "store-orders:closePlatformHost": true };
/** What a run leaves of its state if all but the records at Cloudflare is lost: its hosts are live, and the rest is new. */
export const onlyRecords = async (run: Promise<Outcome>) =>
  new Map([...(await run).state].filter(([urn]) => urn.includes("DnsRecord")));
