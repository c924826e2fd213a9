import * as pulumi from "@pulumi/pulumi";
import { InvalidInputError } from "../../lib/errors.ts";
import { normalizeHosts, parseHostSettings } from "./hosts.ts";
import { explainSettingsIssues, NAMESPACE, type ParsedSettings, parseSettings } from "./parse.ts";

/** The settings of a stack, as the components take them. */
export interface Settings extends Omit<ParsedSettings, "alarmEmail"> {
  /** The recipient of alarms. A secret if it is one in the stack's configuration. */
  readonly alarmEmail?: pulumi.Input<string>;
}

/**
 * Reads the settings from the stack's configuration.
 *
 * @throws {pulumi.RunError} if the configuration is invalid; lists every problem
 */
export function readSettings(): Settings {
  const secretKeys: readonly string[] = JSON.parse(process.env["PULUMI_CONFIG_SECRET_KEYS"] ?? "[]");
  const parsed = parseSettings({ values: pulumi.runtime.allConfig(), secretKeys });
  if (!parsed.ok) throw new pulumi.RunError(explainSettingsIssues(pulumi.getStack(), parsed.issues));
  const { alarmEmail, ...settings } = parsed.settings;
  if (alarmEmail === undefined) return settings;
  const isSecret = secretKeys.includes(`${NAMESPACE}:alarmEmail`);
  return { ...settings, alarmEmail: isSecret ? pulumi.secret(alarmEmail) : alarmEmail };
}

/**
 * Completes settings that are written in a program with the defaults of the stack configuration, and validates those
 * that refer to hosts.
 *
 * @throws {InvalidInputError} if a host is invalid; lists every problem
 */
export function withDefaults(settings: Partial<Settings>): Settings {
  const parsed = parseSettings({ values: {}, secretKeys: [] });
  if (!parsed.ok) throw new pulumi.RunError(explainSettingsIssues("default", parsed.issues));
  const { alarmEmail: _none, ...defaults } = parsed.settings;
  const completed = { ...defaults, ...settings };
  const { domains, issues } = parseHostSettings(completed);
  if (issues.length > 0) throw new InvalidInputError(issues);
  return { ...completed, ...normalizeHosts(completed), ...(domains === undefined ? {} : { domains }) };
}
