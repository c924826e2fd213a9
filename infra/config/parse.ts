import type { z } from "zod";
import type { Issue } from "../../lib/errors.ts";
import { toIssues } from "../../lib/issues.ts";
import { type HostSettings, normalizeHosts, parseHostSettings } from "./hosts.ts";
import { SECRET_KEYS, settingsSchema } from "./schema.ts";

/** The valid settings of a stack. */
export interface ParsedSettings
  extends HostSettings,
    Readonly<Omit<z.output<typeof settingsSchema>, keyof HostSettings>> {}

/** The configuration of a stack as Pulumi passes it to the program. */
export interface StackConfig {
  /** By full key, such as `store-orders:plan`: plain text or JSON. */
  readonly values: Readonly<Record<string, string>>;
  /** The full keys of the secrets. */
  readonly secretKeys: readonly string[];
}

/** Valid settings, or every issue. */
export type SettingsResult =
  | { readonly ok: true; readonly settings: ParsedSettings }
  | { readonly ok: false; readonly code: "invalid_settings"; readonly issues: readonly Issue[] };

/** The namespace of the configuration keys. */
export const NAMESPACE = "store-orders";

/** Validates the configuration of a stack. Pure. The path of an issue begins with the full key. */
export function parseSettings({ values, secretKeys }: StackConfig): SettingsResult {
  const raw = Object.fromEntries(
    Object.entries(values)
      .filter(([key]) => key.startsWith(`${NAMESPACE}:`))
      .map(([key, text]) => [key.slice(NAMESPACE.length + 1), decodeValue(text)]),
  );
  const parsed = parseSettingValues(raw);
  const secrets = secretKeys.filter((key) => key.startsWith(`${NAMESPACE}:`)).flatMap(findSecretIssues);
  const issues = [...(parsed.ok ? [] : parsed.issues), ...secrets];
  if (parsed.ok && issues.length === 0) return parsed;
  const withFullKeys = issues.map(({ path, message }) => ({ path: `${NAMESPACE}:${path}`, message }));
  return { ok: false, code: "invalid_settings", issues: withFullKeys };
}

/** Validates settings by key, as they are written in a stack file or in a program. Pure. */
export function parseSettingValues(raw: Readonly<Record<string, unknown>>): SettingsResult {
  const parsed = settingsSchema.safeParse(raw);
  const { domains, issues: hostIssues } = parseHostSettings(raw);
  const issues = [
    ...(parsed.success ? [] : parsed.error.issues.flatMap((issue) => toIssues(issue, keysAt))),
    ...hostIssues,
  ];
  if (!parsed.success || issues.length > 0) return { ok: false, code: "invalid_settings", issues };
  const { domains: _raw, ...rest } = parsed.data;
  const settings = { ...rest, ...normalizeHosts(rest) };
  return { ok: true, settings: domains === undefined ? settings : { ...settings, domains } };
}

/** Formats the issues of a stack's configuration as one message that names the file and key of each. */
export function explainSettingsIssues(stack: string, issues: readonly Issue[]): string {
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
