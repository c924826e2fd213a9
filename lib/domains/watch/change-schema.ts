import { z } from "zod";
import type { Instant } from "../../clock.ts";
import { ATTENTION_REASONS, DOMAIN_STATES, type DomainState } from "../lifecycle.ts";
import { formatTime } from "./format.ts";
import type { HostScreen } from "./screen.ts";

const time = z.iso.datetime();

/** The schema of one line of `domains watch --json` (zod). */
export const watchChangeSchema = z.strictObject({
  at: time.describe("When it was observed."),
  host: z.string().describe("In lower case, punycode, without a trailing dot."),
  role: z.enum(["primary", "alias", "redirect"]),
  state: z.enum(DOMAIN_STATES as [DomainState, ...DomainState[]]),
  attention: z.enum(ATTENTION_REASONS).exactOptional().describe("Present only in the state needs_attention."),
  since: time.describe("When the host entered the state."),
  verifiedAt: time.exactOptional().describe("When DNS was verified for the certificate."),
  todo: z.array(z.string()).describe("What to do now, one step per entry."),
});

/** Describes a change of a host as JSON. */
export function toWatchChange(
  { host, role, domain, todo }: HostScreen,
  at: Instant,
): z.output<typeof watchChangeSchema> {
  const { state, attention, since, verifiedAt } = domain;
  return {
    at: formatTime(at),
    host,
    role,
    state,
    ...(attention === undefined ? {} : { attention }),
    since: formatTime(since),
    ...(verifiedAt === undefined ? {} : { verifiedAt: formatTime(verifiedAt) }),
    todo: [...todo],
  };
}
