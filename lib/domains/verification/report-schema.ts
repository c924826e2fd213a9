import { z } from "zod";
import { RECORD_TTL_SECONDS } from "../records.ts";
import { REASONS, type ReasonCode } from "./reasons.ts";
import { stackStatusSchema } from "./stack-status.ts";

const recordSchema = z.strictObject({
  host: z.string(),
  role: z.enum(["primary", "alias", "redirect"]),
  zone: z.string(),
  type: z.enum(["CNAME", "ALIAS", "ANAME"]),
  name: z.string().describe("The label or labels below the zone, @ at the apex."),
  value: z.string(),
  ttl: z.literal(RECORD_TTL_SECONDS),
  alternatives: z.array(z.string()).describe("Record types to use if the provider has no ALIAS."),
});

const reasonSchema = z.strictObject({
  code: z.enum(Object.keys(REASONS) as [ReasonCode, ...ReasonCode[]]),
  host: z.string(),
  name: z.string().describe("The name whose records are the problem."),
  found: z.string(),
  expected: z.string(),
  fix: z.string(),
});

const reportSchema = z.strictObject({
  host: z.string().describe("In lower case, punycode, without a trailing dot."),
  role: recordSchema.shape.role,
  state: z
    .enum(["verified", "pending_dns", "needs_attention", "unknown"])
    .describe("A state of the lifecycle, or unknown if a lookup failed, which changes no state."),
  attention: z
    .enum(["certificate_forbidden"])
    .exactOptional()
    .describe("Present only in the state needs_attention."),
  dns: z.enum(["ok", ...statesOf("dns")]),
  certificate: z.enum(["allowed", ...statesOf("certificate")]),
  found: z.string().exactOptional().describe("What is set at the DNS provider, if it points to the target."),
  reasons: z.array(reasonSchema),
  record: recordSchema.exactOptional().describe("The record to set. Missing if the host has no target yet."),
  advice: z.array(z.string()).describe("What to do in this state, one step per entry."),
  stack: stackStatusSchema
    .exactOptional()
    .describe("What the stack said about the host in its last update, if its outputs were given."),
});

/** The schema of what `verifyHosts` returns and `domains check --json` prints (zod). */
export const hostReportsSchema = z.array(reportSchema);

/** Returns the JSON Schema (2020-12) of what `domains check --json` prints. */
export function hostReportsJsonSchema(): object {
  return z.toJSONSchema(hostReportsSchema);
}

function statesOf<A extends "dns" | "certificate">(aspect: A) {
  const states = Object.values(REASONS).flatMap((rule) => (rule.aspect === aspect ? [rule.state] : []));
  return [...new Set(states)] as Extract<(typeof REASONS)[ReasonCode], { readonly aspect: A }>["state"][];
}
