import type { z } from "zod";
import { normalizeName } from "../../lib/domains/hostname.ts";
import { type DomainMapping, hostsOf } from "../../lib/domains/mapping.ts";
import { parseDomains } from "../../lib/domains/parse.ts";
import type { Issue } from "../../lib/errors.ts";
import { toIssues } from "../../lib/issues.ts";
import { isPlan } from "../../lib/plans/plan-limits.ts";
import { SECRET_KEYS, settingsSchema } from "./schema.ts";

/** The valid settings of a stack. */
export interface ParsedSettings extends Readonly<Omit<z.output<typeof settingsSchema>, "domains">> {
  readonly domains?: DomainMapping;
}

/** The configuration of a stack as Pulumi passes it to the program. */
export interface StackConfig {
  /** By full key, such as `store-orders:plan`: plain text or JSON. */
  readonly values: Readonly<Record<string, string>>;
  /** The full keys of the secrets. */
  readonly secretKeys: readonly string[];
}

/** Valid settings, or every issue. The path of an issue begins with the full key. */
export type SettingsResult =
  | { readonly ok: true; readonly settings: ParsedSettings }
  | { readonly ok: false; readonly code: "invalid_settings"; readonly issues: readonly Issue[] };

/** The namespace of the configuration keys. */
export const NAMESPACE = "store-orders";

/** Validates the configuration of a stack. Pure. */
export function parseSettings({ values, secretKeys }: StackConfig): SettingsResult {
  const raw = Object.fromEntries(
    Object.entries(values)
      .filter(([key]) => key.startsWith(`${NAMESPACE}:`))
      .map(([key, text]) => [key.slice(NAMESPACE.length + 1), decodeValue(text)]),
  );
  const parsed = settingsSchema.safeParse(raw);
  const domains = parseStackDomains(raw["domains"], raw["plan"]);
  const issues = [
    ...(parsed.success ? [] : parsed.error.issues.flatMap((issue) => toIssues(issue, keysAt))),
    ...("issues" in domains ? domains.issues : findHostIssues(raw, domains.domains)),
    ...secretKeys.filter((key) => key.startsWith(`${NAMESPACE}:`)).flatMap(findSecretIssues),
  ];
  if (!parsed.success || "issues" in domains || issues.length > 0) {
    const withFullKeys = issues.map(({ path, message }) => ({ path: `${NAMESPACE}:${path}`, message }));
    return { ok: false, code: "invalid_settings", issues: withFullKeys };
  }
  const { domains: _raw, ...rest } = parsed.data;
  return {
    ok: true,
    settings: domains.domains === undefined ? rest : { ...rest, domains: domains.domains },
  };
}

/** Formats the issues of a stack's configuration as one message that names the file and key of each. */
export function explainIssues(stack: string, issues: readonly Issue[]): string {
  const file = `Pulumi.${stack}.yaml`;
  const lines = issues.map(({ path, message }) => `  ${file}  ${path}: ${message}`);
  const count = issues.length === 1 ? "one problem" : `${issues.length} problems`;
  return [`The configuration of the stack '${stack}' has ${count}:`, ...lines].join("\n");
}

/** Pulumi passes structured values, numbers and booleans as JSON, and strings unquoted. */
function decodeValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The common name of a certificate is limited to 64 characters (RFC 5280, appendix A.1). */
const MAX_HOST_CHARS = 64;

function parseStackDomains(value: unknown, plan: unknown) {
  if (value === undefined) return { domains: undefined };
  // An invalid plan has its own issue and must not cause a second one about domains.
  const known = typeof plan === "string" && isPlan(plan) ? plan : plan === undefined ? "free" : "pro";
  const parsed = parseDomains(value, { plan: known });
  if (!parsed.ok) return parsed;
  const issues = hostsOf(parsed.domains)
    .filter(({ host }) => host.length > MAX_HOST_CHARS)
    .map(({ host }) => ({
      path: "domains",
      message: `${host} has ${host.length} characters, but a certificate allows at most ${MAX_HOST_CHARS}. Choose a shorter name.`,
    }));
  return issues.length === 0 ? parsed : { issues };
}

/** Checks the keys that refer to hosts: a mistyped host would have no effect, so it is an error. */
function findHostIssues(raw: Readonly<Record<string, unknown>>, mapping?: DomainMapping): readonly Issue[] {
  const known = new Set(mapping === undefined ? [] : hostsOf(mapping).map(({ host }) => host));
  const { hold, adopt, dns } = raw;
  const named = [...HOST_KEYS].flatMap((key) => namesIn(raw[key]).map((host) => ({ key, host })));
  const unknown = named
    .filter(({ host }) => !known.has(normalizeName(host)))
    .map(({ key, host }) => ({
      path: key,
      message: `${host} is not one of the configured domains. Add it to 'domains', or remove it here.`,
    }));
  const both = namesIn(hold)
    .filter((host) => namesIn(adopt).map(normalizeName).includes(normalizeName(host)))
    .map((host) => ({
      path: "hold",
      message: `${host} is also in 'adopt'. Remove it from one of the two keys.`,
    }));
  const manual =
    dns !== "manual"
      ? []
      : ["hold", "adopt"]
          .filter((key) => namesIn(raw[key]).length > 0)
          .map((path) => ({
            path,
            message:
              "This key has no effect with 'dns: manual', which creates no DNS records. Remove this key.",
          }));
  return [...unknown, ...both, ...manual];
}

const HOST_KEYS = ["reverify", "hold", "adopt"] as const;

function namesIn(value: unknown): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  const names: readonly unknown[] = Array.isArray(value) ? value : Object.keys(value);
  return names.filter((name) => typeof name === "string");
}

function findSecretIssues(key: string): readonly Issue[] {
  const path = key.slice(NAMESPACE.length + 1);
  if (SECRET_KEYS.has(path)) return [];
  const message = `Only ${[...SECRET_KEYS].join(", ")} can be a secret. Set this key again without --secret.`;
  return [{ path, message }];
}

/** The known keys that an error message lists, at the top level only. */
function keysAt(path: readonly PropertyKey[]): readonly string[] {
  return path.length === 0 ? Object.keys(settingsSchema.shape) : [];
}
