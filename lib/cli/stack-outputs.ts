import * as z from "zod";
import { InvalidInputError, invalidInput, toIssues } from "../core/errors.ts";
import { parseHostname } from "../domains/hostname.ts";
import { toHostname } from "../domains/parse.ts";
import { ATTENTION_REASONS, HOST_STATES } from "../domains/status/status.ts";
import type { StackHost, StackRecord, StackStatus } from "../domains/status/steps.ts";
import type { HostToVerify } from "../domains/status/verify.ts";
import { normalizeName } from "../domains/verification/resolver.ts";
import { isWithin } from "../domains/zone.ts";
import { readTextFile } from "../files/read.ts";
import { readInput, type Terminal } from "./terminal.ts";

export interface StackDomains {
  readonly hosts: readonly HostToVerify[];
  readonly knownZones: readonly string[];
}

const time = z.iso.datetime();

const hostname = z.string().transform(toHostname(parseHostname));

const recordShape = {
  zone: z.string().optional(),
  type: z.string().optional(),
  name: z.string(),
  ttl: z.number().optional(),
  value: z.string().optional(),
} satisfies Shape<StackRecord>;

const statusShape = {
  state: z.enum(HOST_STATES),
  attention: z.enum(ATTENTION_REASONS).exactOptional(),
  reason: z.string(),
  next: z.array(z.string()),
  since: time.exactOptional(),
  until: time.exactOptional(),
  dns: z.enum(["cloudflare", "route53", "manual"]).exactOptional(),
} satisfies Shape<StackStatus>;
const statusSchema = z.object(statusShape);

/** Earlier versions, and the components of a program of your own, output less. */
const hostSchema = z.object({
  ...statusSchema.partial().shape,
  role: z.enum(["primary", "alias", "redirect"]),
  record: z.object({ ...recordShape, value: hostname.optional() }),
  validationRecord: z.object(recordShape).partial().optional(),
} satisfies Record<keyof StackHost, z.ZodType>);

type Shape<Output> = { readonly [Part in keyof Output]-?: z.ZodType<Output[Part] | undefined> };

const domainsOutput = z.record(hostname, hostSchema, {
  error: (issue) => (issue.code === "invalid_key" ? issue.issues[0]?.message : undefined),
});

/**
 * Reads the outputs of a stack as JSON: all of them, or only `domains` (`domainStatus` of a program of your own). The
 * path `-` stands for standard input.
 */
export async function readStackDomains(
  path: string,
  { input }: Pick<Terminal, "input">,
): Promise<StackDomains> {
  const content = await readOutputs(path, input);
  const outputs = content as { domains?: unknown; domainStatus?: unknown } | null;
  const output = outputs?.domains ?? outputs?.domainStatus ?? content;
  if (Object(output) !== output || Array.isArray(output))
    throw invalidInput("--stack", `This is not an object with the hosts. ${HINT}`);
  const parsed = domainsOutput.safeParse(output);
  if (!parsed.success) {
    const issues = parsed.error.issues.flatMap((issue) => toIssues(issue, () => []));
    throw new InvalidInputError([{ path: "--stack", message: HINT }, ...issues]);
  }
  const outputsOf = Object.entries(parsed.data);
  return {
    hosts: outputsOf.map(([host, { role, record, validationRecord, ...output }]) => {
      const { value: target } = record;
      const { name, zone, value } = validationRecord ?? {};
      // Its parts are not known before the certificate has been requested.
      const isKnown = name && zone && value;
      const stack = statusSchema.safeParse(output).data;
      return {
        ...{ host, role, target },
        ...(isKnown && { validationRecord: { name: normalizeName(`${name}.${zone}`), value } }),
        ...(stack === undefined ? {} : { stack }),
      };
    }),
    knownZones: outputsOf.flatMap(([host, { record }]) => zoneOf(host, record)),
  };
}

async function readOutputs(path: string, input: Terminal["input"]): Promise<unknown> {
  const read = path === "-" ? await readInput(input, MAX_OUTPUT_BYTES) : readTextFile(path, MAX_OUTPUT_BYTES);
  if (!read.ok) throw invalidInput(path, `${read.message} ${HINT}`);
  if (read.text.trim() === "") throw invalidInput(path, NO_OUTPUT);
  try {
    return JSON.parse(read.text);
  } catch {
    throw invalidInput(path, `This is not JSON. ${HINT}`);
  }
}

/** More than a stack with the most hosts has. */
const MAX_OUTPUT_BYTES = 4 * 1024 * 1024;

const NO_OUTPUT =
  "There is no output: no update of the stack has ended, or it has no such output. Run 'npx pulumi up' first, and read its error if it fails.";
const HINT = "Pass what 'npx pulumi stack output domains --json' prints.";

/** The zone of a record. Without one, the record's name tells: it is relative to the zone. */
function zoneOf(host: string, { zone, name }: { readonly zone?: string | undefined; readonly name: string }) {
  if (zone !== undefined) return isWithin(host, zone) ? [zone] : [];
  if (name === "@") return [host];
  return host.startsWith(`${name}.`) ? [host.slice(name.length + 1)] : [];
}
