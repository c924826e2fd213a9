import * as pulumi from "@pulumi/pulumi";
import type * as z from "zod";
import { InvalidInputError, type Issue, isInvalidInput, toIssues } from "../../lib/core/errors.ts";
import { type DomainMapping, hostsOf } from "../../lib/domains/mapping.ts";
import { parseDomains } from "../../lib/domains/parse.ts";
import { isPlan } from "../../lib/plans/plan-limits.ts";
import { NAMESPACE, SECRET_SETTINGS, settingsSchema } from "./schema.ts";

/** Every host is in normal form: lower case, punycode, no trailing dot. */
interface ParsedSettings extends Readonly<Omit<z.output<typeof settingsSchema>, "domains">> {
  readonly domains?: DomainMapping;
}

/** The settings, as the components take them. */
export interface Settings extends Omit<ParsedSettings, "alarmEmail"> {
  /** The recipient of alarms. A secret if it is one in the stack's configuration. */
  readonly alarmEmail?: pulumi.Input<string> | undefined;
}

/** The settings of a stack file, with domains that have been validated. Every key is optional. */
export interface SettingsInput
  extends Readonly<Omit<z.input<typeof settingsSchema>, "domains" | "alarmEmail">> {
  readonly domains?: DomainMapping;
  readonly alarmEmail?: pulumi.Input<string>;
}

interface StackConfig {
  /** By full key, such as `store-orders:plan`: a plain string or JSON. */
  readonly values: Readonly<Record<string, string>>;
  /** The full keys of the secrets. */
  readonly secretKeys: readonly string[];
}

type SettingsResult =
  | { readonly ok: true; readonly settings: ParsedSettings }
  | { readonly ok: false; readonly code: "invalid_settings"; readonly issues: readonly Issue[] };

/** Reads the settings from the stack's configuration. Throws a `RunError` with every problem. */
export function readSettings(): Settings {
  const secretKeys: readonly string[] = JSON.parse(process.env["PULUMI_CONFIG_SECRET_KEYS"] ?? "[]");
  const parsed = parseSettings({ values: pulumi.runtime.allConfig(), secretKeys });
  if (!parsed.ok) throw new pulumi.RunError(explainSettingsIssues(pulumi.getStack(), parsed.issues));
  const { alarmEmail, ...settings } = parsed.settings;
  if (alarmEmail === undefined) return settings;
  const isSecret = secretKeys.includes(`${NAMESPACE}:alarmEmail`);
  return { ...settings, alarmEmail: isSecret ? pulumi.secret(alarmEmail) : alarmEmail };
}

/** Completes the settings of a program with the defaults. Throws an `InvalidInputError` that lists every problem. */
export function withDefaults({ alarmEmail, ...values }: SettingsInput): Settings {
  // An output is validated by AWS only, because its value is not known yet.
  const known = typeof alarmEmail === "string" ? { alarmEmail } : {};
  const parsed = parseSettingValues({ ...values, ...known });
  if (!parsed.ok) throw new InvalidInputError(parsed.issues);
  return alarmEmail === undefined ? parsed.settings : { ...parsed.settings, alarmEmail };
}

/** Validates the configuration of a stack. Pure. The path of an issue begins with the full key. */
export function parseSettings({ values, secretKeys }: StackConfig): SettingsResult {
  const prefix = `${NAMESPACE}:`;
  const namesIn = (keys: readonly string[]) =>
    keys.filter((key) => key.startsWith(prefix)).map((key) => key.slice(prefix.length));
  const raw = namesIn(Object.keys(values)).map((name) => [name, decode(name, values[prefix + name] ?? "")]);
  const parsed = parseSettingValues(Object.fromEntries(raw));
  const secrets = namesIn(secretKeys).filter((path) => !SECRET_SETTINGS.has(path));
  if (parsed.ok && secrets.length === 0) return parsed;
  const message = `Only ${[...SECRET_SETTINGS].join(", ")} can be a secret. Set this key again without --secret.`;
  const issues = [...(parsed.ok ? [] : parsed.issues), ...secrets.map((path) => ({ path, message }))];
  return { ok: false, code: "invalid_settings", issues: withFullKeys(issues) };
}

/** Reports a setting that proves invalid only in use, such as a module that does not exist, like those of `readSettings`. */
export function explainRejected(error: unknown): never {
  if (!isInvalidInput(error)) throw error;
  throw new pulumi.RunError(explainSettingsIssues(pulumi.getStack(), withFullKeys(error.issues)));
}

function withFullKeys(issues: readonly Issue[]): readonly Issue[] {
  return issues.map(({ path, message }) => ({ path: `${NAMESPACE}:${path}`, message }));
}

export function explainSettingsIssues(stack: string, issues: readonly Issue[]): string {
  const file = `Pulumi.${stack}.yaml`;
  const lines = issues.map(({ path, message }) => `  ${file}  ${path}: ${message}`);
  const count = issues.length === 1 ? "one problem" : `${issues.length} problems`;
  return [`The configuration of the stack '${stack}' has ${count}:`, ...lines].join("\n");
}

/** Pulumi passes structured values, numbers and booleans as JSON, and strings unquoted, such as the name `2026`. */
function decode(name: string, value: string): unknown {
  if (settingsSchema.safeParse({ [name]: value }).success) return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

const otherSettings = settingsSchema.omit({ domains: true });

type RawSettings = Readonly<Record<string, unknown>>;

function parseSettingValues(raw: RawSettings): SettingsResult {
  const { domains: mapping, ...others } = raw;
  const parsed = otherSettings.safeParse(others);
  const topLevelKeys = (path: readonly PropertyKey[]) =>
    path.length === 0 ? Object.keys(settingsSchema.shape) : [];
  const hosts = mapping === undefined ? undefined : parseDomains(mapping, { plan: planOf(raw) });
  const domains = hosts?.ok === true ? hosts.domains : undefined;
  const issues = [
    ...(parsed.success ? [] : parsed.error.issues.flatMap((issue) => toIssues(issue, topLevelKeys))),
    ...(hosts?.ok === false ? hosts.issues : []),
    ...(parsed.success && hosts?.ok !== false ? findHostIssues(others, parsed.data, domains) : []),
  ];
  if (!parsed.success || issues.length > 0) return { ok: false, code: "invalid_settings", issues };
  return { ok: true, settings: domains === undefined ? parsed.data : { ...parsed.data, domains } };
}

/** An invalid plan has its own issue and must not cause a second one about domains. */
function planOf({ plan }: RawSettings) {
  if (plan === undefined) return "free";
  return typeof plan === "string" && isPlan(plan) ? plan : "pro";
}

/** The common name of a certificate is limited to 64 characters (RFC 5280, appendix A.1). */
const MAX_HOST_CHARS = 64;

/** Checks the keys that refer to hosts: a mistyped host would have no effect, so it is an error. */
function* findHostIssues(
  raw: RawSettings,
  settings: z.output<typeof otherSettings>,
  domains: DomainMapping | undefined,
): Iterable<Issue> {
  const known = domains === undefined ? [] : hostsOf(domains).map(({ host }) => host);
  for (const host of known.filter(({ length }) => length > MAX_HOST_CHARS)) {
    const message = `${host} has ${host.length} characters, but a certificate allows at most ${MAX_HOST_CHARS}. Choose a shorter name.`;
    yield { path: "domains", message };
  }
  const hosts = {
    reverify: Object.keys(settings.reverify),
    hold: settings.hold,
    adopt: Object.keys(settings.adopt),
    certificates: Object.keys(settings.certificates),
  };
  for (const [path, names] of Object.entries(hosts))
    for (const name of names.filter((each) => !known.includes(each))) {
      const message = `${name} is not one of the configured domains. Add it to 'domains', or remove it here.`;
      yield { path, message };
    }
  for (const path of ["reverify", "adopt", "certificates"] as const)
    if (Object.keys(Object(raw[path])).length > hosts[path].length)
      yield { path, message: "It has a host twice, in two spellings. Remove one of the two." };
  for (const name of hosts.hold.filter((each) => hosts.adopt.includes(each)))
    yield { path: "hold", message: `${name} is also in 'adopt'. Remove it from one of the two keys.` };
  for (const name of hosts.reverify.filter((each) => hosts.certificates.includes(each))) {
    const message = `${name} is also in 'certificates', so no certificate is requested for it. Remove it here.`;
    yield { path: "reverify", message };
  }
  const nothing = "Without custom hosts nothing would be served. Add 'domains', or remove this key.";
  if (settings.closePlatformHost && known.length === 0) yield { path: "closePlatformHost", message: nothing };
  if (settings.dns !== "manual") return;
  const message = "This key has no effect with 'dns: manual', which creates no DNS records. Remove this key.";
  for (const path of ["hold", "adopt"] as const) if (hosts[path].length > 0) yield { path, message };
}
