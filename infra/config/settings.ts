import * as pulumi from "@pulumi/pulumi";
import { explainSettings, NAMESPACE, type ParsedSettings, parseSettings } from "./parse.ts";

/** What the stack is configured to be, as the components take it. */
export interface Settings extends Omit<ParsedSettings, "alarmEmail"> {
  /** Where alarms are told. Secret where the stack's configuration keeps it so. */
  readonly alarmEmail?: pulumi.Input<string>;
}

/** Reads the stack's configuration, or stops the program with everything that is wrong with it. */
export function readSettings(): Settings {
  const stack = pulumi.getStack();
  const secretKeys: readonly string[] = JSON.parse(process.env["PULUMI_CONFIG_SECRET_KEYS"] ?? "[]");
  const parsed = parseSettings({ values: pulumi.runtime.allConfig(), secretKeys });
  if ("issues" in parsed) throw new pulumi.RunError(explainSettings(stack, parsed.issues));
  const { alarmEmail, ...settings } = parsed.settings;
  if (alarmEmail === undefined) return settings;
  const kept = secretKeys.includes(`${NAMESPACE}:alarmEmail`) ? pulumi.secret(alarmEmail) : alarmEmail;
  return { ...settings, alarmEmail: kept };
}

/** Settings for a program that has no stack file of this kind. What is left out has its default. */
export function withDefaults(chosen: Partial<Settings>): Settings {
  const parsed = parseSettings({ values: {}, secretKeys: [] });
  if ("issues" in parsed) throw new pulumi.RunError(explainSettings("default", parsed.issues));
  const { alarmEmail: _none, ...defaults } = parsed.settings;
  return { ...defaults, ...chosen };
}
