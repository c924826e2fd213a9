import type { z } from "zod";
import { normalizeName } from "../../lib/domains/hostname.ts";
import { type DomainMapping, hostsOf, parseDomains } from "../../lib/domains/mapping.ts";
import type { Issue } from "../../lib/errors.ts";
import { toIssues } from "../../lib/issues.ts";
import { isPlan } from "../../lib/plans/plan-limits.ts";
import { SECRET_KEYS, settingsSchema } from "./schema.ts";

/** What a stack is configured to be. Every value has passed its rules. */
export interface ParsedSettings extends Readonly<Omit<z.output<typeof settingsSchema>, "domains">> {
  readonly domains?: DomainMapping;
}

/** The configuration of a stack as it is handed to a program. */
export interface StackConfig {
  /** By full key, such as `store-orders:plan`: text, or JSON. */
  readonly values: Readonly<Record<string, string>>;
  /** The full keys that are kept encrypted. */
  readonly secretKeys: readonly string[];
}

/** Settings that hold every rule, or everything that is wrong with them: the path begins with the full key. */
export type SettingsOutcome = { readonly settings: ParsedSettings } | { readonly issues: readonly Issue[] };

/** The namespace of the keys. */
export const NAMESPACE = "store-orders";

/** Checks the configuration of a stack and tells everything that is wrong with it. Pure. */
export function parseSettings({ values, secretKeys }: StackConfig): SettingsOutcome {
  const written = Object.fromEntries(
    Object.entries(values)
      .filter(([key]) => key.startsWith(`${NAMESPACE}:`))
      .map(([key, text]) => [key.slice(NAMESPACE.length + 1), decoded(text)]),
  );
  const parsed = settingsSchema.safeParse(written);
  const domains = parseStackDomains(written["domains"], written["plan"]);
  const issues = [
    ...(parsed.success ? [] : parsed.error.issues.flatMap((issue) => toIssues(issue, keysAt))),
    ...("issues" in domains ? domains.issues : hostIssues(written, domains.domains)),
    ...secretKeys.filter((key) => key.startsWith(`${NAMESPACE}:`)).flatMap(secretIssues),
  ];
  if (!parsed.success || "issues" in domains || issues.length > 0) {
    return { issues: issues.map(({ path, message }) => ({ path: `${NAMESPACE}:${path}`, message })) };
  }
  const { domains: _raw, ...rest } = parsed.data;
  return { settings: domains.domains === undefined ? rest : { ...rest, domains: domains.domains } };
}

/** Says in one text what is wrong with a stack's configuration, and where to mend it. */
export function explainSettings(stack: string, issues: readonly Issue[]): string {
  const file = `Pulumi.${stack}.yaml`;
  const lines = issues.map(({ path, message }) => `  ${file}  ${path}: ${message}`);
  const count = issues.length === 1 ? "one problem" : `${issues.length} problems`;
  return [`The configuration of the stack '${stack}' has ${count}:`, ...lines].join("\n");
}

/** Structured values and numbers arrive as JSON, text as it is. */
function decoded(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The certificate authority puts the host into a field of 64 characters. */
const LONGEST_HOST = 64;

function parseStackDomains(value: unknown, plan: unknown) {
  if (value === undefined) return { domains: undefined };
  // A plan that is none has an issue of its own, which must not bring a second one about domains.
  const known = typeof plan === "string" && isPlan(plan) ? plan : plan === undefined ? "free" : "pro";
  const parsed = parseDomains(value, { plan: known });
  if (!parsed.ok) return parsed;
  const issues = hostsOf(parsed.domains)
    .filter(({ host }) => host.length > LONGEST_HOST)
    .map(({ host }) => ({
      path: "domains",
      message: `${host} has ${host.length} characters, and a certificate takes ${LONGEST_HOST}. Choose a shorter name.`,
    }));
  return issues.length === 0 ? parsed : { issues };
}

/** Every host that another key names has to be configured, since a mistyped one would do nothing. */
function hostIssues(written: Readonly<Record<string, unknown>>, config?: DomainMapping): readonly Issue[] {
  const known = new Set(config === undefined ? [] : hostsOf(config).map(({ host }) => host));
  const { hold, adopt, dns } = written;
  const named = [...HOST_KEYS].flatMap((key) => namesIn(written[key]).map((host) => ({ key, host })));
  const unknown = named
    .filter(({ host }) => !known.has(normalizeName(host)))
    .map(({ key, host }) => ({
      path: key,
      message: `${host} is not among the domains. Add it there, or remove it here.`,
    }));
  const both = namesIn(hold)
    .filter((host) => namesIn(adopt).map(normalizeName).includes(normalizeName(host)))
    .map((host) => ({ path: "hold", message: `${host} is under 'adopt' too. Remove it from one of them.` }));
  const manual =
    dns !== "manual"
      ? []
      : ["hold", "adopt"]
          .filter((key) => namesIn(written[key]).length > 0)
          .map((path) => ({
            path,
            message: "With 'dns: manual' no routing record is made. Remove this key.",
          }));
  return [...unknown, ...both, ...manual];
}

const HOST_KEYS = ["reverify", "hold", "adopt"] as const;

function namesIn(value: unknown): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  const names: readonly unknown[] = Array.isArray(value) ? value : Object.keys(value);
  return names.filter((name) => typeof name === "string");
}

function secretIssues(key: string): readonly Issue[] {
  const path = key.slice(NAMESPACE.length + 1);
  if (SECRET_KEYS.has(path)) return [];
  const message = `Only ${[...SECRET_KEYS].join(", ")} can be a secret. Set this one again without --secret.`;
  return [{ path, message }];
}

/** The keys that an error names. Those of the settings are listed; those of single values are in their messages. */
function keysAt(path: readonly PropertyKey[]): readonly string[] {
  return path.length === 0 ? Object.keys(settingsSchema.shape) : [];
}
