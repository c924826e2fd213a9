import { z } from "zod";
import { ATTENTION_REASONS, DOMAIN_STATES, type DomainState } from "../lifecycle.ts";

const time = z.iso.datetime();

/** The schema of what a stack said about a host in its last update (zod). */
export const stackStatusSchema = z.strictObject({
  state: z.enum(DOMAIN_STATES as [DomainState, ...DomainState[]]),
  attention: z.enum(ATTENTION_REASONS).exactOptional().describe("Present only in the state needs_attention."),
  reason: z.string().describe("Why the host was in this state."),
  next: z.array(z.string()).describe("What to do, one step per entry."),
  since: time.exactOptional().describe("When the certificate that is awaited was requested."),
  until: time.exactOptional().describe("When ACM gives up on it."),
});

/** What a stack said about a host in its last update. DNS and the certificate may have changed since. */
export type StackStatus = z.output<typeof stackStatusSchema>;
