import * as z from "zod";
import { DEFAULT_BAN_POLICY } from "../../lib/accounts/admission.ts";
import { plansSchema } from "../../lib/cli/plans-schema.ts";
import { parseHostname } from "../../lib/domains/hostname.ts";
import { domainsSchema } from "../../lib/domains/parse.ts";
import { findOriginProblem } from "../../lib/http/cors.ts";
import { API_VERSION_PATH } from "../../lib/http/operations.ts";
import { findKeyHeaderProblem } from "../../lib/http/options.ts";
import { findBasePathProblem } from "../../lib/http/path.ts";
import { createDnsResolver } from "../../lib/node/dns-resolver.ts";
import { PLANS } from "../../lib/plans/plan-limits.ts";
import { MINUTE_MS } from "../../lib/plans/windows.ts";

export const NAMESPACE = "store-orders";

/** The retention periods that CloudWatch Logs accepts, in days. */
const RETENTION_DAYS = [
  1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653,
] as const;

/**
 * Of an invocation, and of a streamed response of API Gateway: "Lambda quotas" and "Stream the integration response" of AWS's
 * documentation. The SDK (botocore 1.44.8) accepts 1,800 seconds and 32,768 MiB, which no document permits to a function.
 */
const MAX_TIMEOUT_SECONDS = 900;
const MAX_MEMORY_MIB = 10_240;

const wholeNumber = (from: number, to: number) => {
  const error = `Write a whole number from ${from} to ${to}.`;
  return z.int({ error }).min(from, { error }).max(to, { error });
};

const oneOf = <const T extends readonly string[]>(names: T) =>
  z.enum(names, { error: `Write one of: ${names.join(", ")}.` });

const matching = (pattern: RegExp, error: string) => z.string({ error }).regex(pattern, { error });

const mapping = <T extends z.ZodRawShape>(shape: T) =>
  z.strictObject(shape, { error: `Write a mapping with '${Object.keys(shape).join("' and '")}'.` });

/** A host in normal form. An invalid one stays as it is, so it matches no configured domain. */
const host = z.string().transform((text) => {
  const parsed = parseHostname(text);
  return parsed.ok ? parsed.hostname : text;
});

const byHost = <T extends z.ZodType>(value: T, example: string) =>
  z.record(host, value, { error: `Write a mapping by host, such as { orders.example.com: ${example} }.` });

const RECORD_ID =
  "Write the record's identifier in quotes: 32 hexadecimal digits, or at Route 53 <zone>_<host>_<type>.";
const recordId = matching(/^([0-9a-f]{32}|[0-9A-Z]{1,32}_.+_(A|CNAME)(_.{1,128})?)$/, RECORD_ID);

const banPolicy = mapping({
  maxRejections: wholeNumber(0, 10_000).default(DEFAULT_BAN_POLICY.maxRejections),
  minutes: wholeNumber(1, 1_440).default(DEFAULT_BAN_POLICY.durationMs / MINUTE_MS),
}).transform(({ maxRejections, minutes }) => ({ maxRejections, durationMs: minutes * MINUTE_MS }));

const url = z
  .url({ protocol: /^https$/, error: "Write an address that begins with https://." })
  .transform((address) => new URL(address).href);

const SERVER_URL = `Write a base URL that ends with ${API_VERSION_PATH}, such as https://orders.example.com${API_VERSION_PATH}.`;
const SERVERS = `Write a mapping of names to base URLs, such as { production: https://orders.example.com${API_VERSION_PATH} }.`;
const serverUrl = url.refine((address) => address.endsWith(API_VERSION_PATH), { error: SERVER_URL });

const servers = z
  .record(z.string(), serverUrl, { error: SERVERS })
  .transform((byName) => Object.entries(byName).map(([description, url]) => ({ url, description })));

const RESOLVER = "Write the IP address of a DNS server, optionally with a port, such as 1.1.1.1.";

function isServerAddress(address: string): boolean {
  try {
    return createDnsResolver({ servers: [address] }) !== undefined;
  } catch {
    return false;
  }
}

const flag = z.boolean({ error: "Write true or false." }).default(false);

/** A string with a rule of the library: `findProblem` returns what is wrong, `undefined` if it is valid. */
const checked = (error: string, findProblem: (text: string) => string | undefined) =>
  z.string({ error }).check((context) => {
    const message = findProblem(context.value);
    if (message !== undefined) context.issues.push({ code: "custom", message, input: context.value });
  });

const origin = checked("Write an origin, such as https://shop.example.com.", findOriginProblem);
const header = checked("Write the name of a header, such as x-api-key.", findKeyHeaderProblem);

const keys = mapping({
  headers: z.array(header, { error: "Write a list of headers, such as [x-api-key]." }),
});

const ENTRY = "Write the path of a module, relative to Pulumi.yaml, such as ./functions.ts.";

const throttle = mapping({
  perSecond: wholeNumber(1, 10_000).default(500),
  burst: wholeNumber(1, 5_000).default(250),
});

/** The range that WAF accepts. */
const waf = mapping({ requestsPerFiveMinutes: wholeNumber(10, 2_000_000_000) });

const BUS =
  "Write 'default', or the ARN of an event bus, such as arn:aws:events:eu-central-1:123456789012:event-bus/shop.";

const events = mapping({
  bus: matching(/^(default|arn:aws[\w-]*:events:[a-z0-9-]+:\d{12}:event-bus\/[\w./-]{1,256})$/, BUS),
});

const CERTIFICATE =
  "Write the ARN of a certificate, such as arn:aws:acm:eu-central-1:123456789012:certificate/01234567-89ab-cdef-0123-456789abcdef.";
const certificate = matching(/^arn:aws[\w-]*:acm:[a-z0-9-]+:\d{12}:certificate\/[\w-]+$/, CERTIFICATE);

const TAG =
  "Write a mapping of tags, such as { team: shop }: letters, digits, spaces and _.:/=+-@, at most 128 in a key and 256 in a value. A key does not begin with 'aws:' or 'store-orders:'. Write a number in quotes.";
const tagText = String.raw`[\p{L}\p{N} _.:/=+@-]`;
const tagKey = matching(new RegExp(`^(?!aws:|store-orders:)${tagText}{1,128}$`, "u"), TAG);
const tagValue = matching(new RegExp(`^${tagText}{0,256}$`, "u"), TAG);

/** The tags of every resource. AWS allows 50; certificates and domain names have two of the stack. */
const tags = z
  .record(tagKey, tagValue, { error: TAG })
  .refine((all) => Object.keys(all).length <= 48, { error: "Write at most 48 tags." });

const BOUNDARY =
  "Write the ARN of a managed policy, such as arn:aws:iam::123456789012:policy/store-orders-production-boundary.";

const TABLE =
  "Write the name of a DynamoDB table: 3 to 255 letters, digits, '_', '-' and '.', in quotes if it is a number.";
const tableName = matching(/^[\w.-]{3,255}$/, TABLE);

/** See infra/recovery.md#rename-import-restore. */
const tables = z
  .strictObject(
    { orders: tableName.optional(), accounts: tableName.optional() },
    { error: "Write a mapping with 'orders', 'accounts' or both." },
  )
  .refine(({ orders, accounts }) => orders === undefined || orders !== accounts, {
    error: "Orders and accounts need a table each. Write two names.",
  });

const RENAMED =
  "Write the name of the stack before it was renamed, or <project>/<stack> if the project was renamed, too.";

export const settingsSchema = z.strictObject({
  plan: oneOf(PLANS).default("free"),
  domains: domainsSchema.optional(),
  dns: oneOf(["cloudflare", "route53", "manual"]).default("cloudflare"),
  resolver: z.string({ error: RESOLVER }).refine(isServerAddress, { error: RESOLVER }).optional(),
  reverify: byHost(wholeNumber(1, 1_000_000), "1").prefault({}),
  hold: z.array(host, { error: "Write a list of hosts." }).prefault([]),
  adopt: byHost(recordId, "0123456789abcdef0123456789abcdef").prefault({}),
  certificates: byHost(certificate, "arn:aws:acm:…").prefault({}),
  servers: servers.optional(),
  docsUrl: url.optional(),
  corsOrigins: z.array(origin, { error: "Write a list of origins." }).optional(),
  preview: oneOf(["v2"]).optional(),
  plans: plansSchema.optional(),
  keys: keys.optional(),
  basePath: checked("Write a path, such as /shop.", (path) =>
    path.includes("~") ? "API Gateway accepts no '~' in a path." : findBasePathProblem(path),
  ).optional(),
  entry: matching(/\.[cm]?[jt]s$/, ENTRY).optional(),
  memoryMiB: wholeNumber(128, MAX_MEMORY_MIB).default(512),
  timeoutSeconds: wholeNumber(1, MAX_TIMEOUT_SECONDS).default(300),
  reservedConcurrency: wholeNumber(1, 10_000).optional(),
  logRetentionDays: z
    .literal(RETENTION_DAYS, { error: `Write one of: ${RETENTION_DAYS.join(", ")}.` })
    .default(30),
  alarmEmail: z.email({ error: "Write one e-mail address." }).optional(),
  banPolicy: banPolicy.default(DEFAULT_BAN_POLICY),
  throttle: throttle.default({ perSecond: 500, burst: 250 }),
  waf: waf.optional(),
  events: events.optional(),
  closePlatformHost: flag,
  accessLogs: oneOf(["off", "account"]).default("off"),
  permissionsBoundary: matching(/^arn:aws[\w-]*:iam::\d{12}:policy\/[\w+=,.@/-]+$/, BOUNDARY).optional(),
  tags: tags.optional(),
  tables: tables.optional(),
  renamedFrom: matching(/^([\w.-]+\/)?[\w.-]+$/, RENAMED).optional(),
  protect: z.boolean({ error: "Write true or false." }).default(true),
});

/** The keys whose values can be secrets: set with `--secret`. */
export const SECRET_SETTINGS: ReadonlySet<string> = new Set(["alarmEmail"]);
