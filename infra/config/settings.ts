import * as pulumi from "@pulumi/pulumi";
import type { z } from "zod";
import type { DomainMapping } from "../../lib/domains/mapping.ts";
import { InvalidInputError } from "../../lib/errors.ts";
import {
  explainSettingsIssues,
  NAMESPACE,
  type ParsedSettings,
  parseSettings,
  parseSettingValues,
} from "./parse.ts";
import type { settingsSchema } from "./schema.ts";

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

/** The settings of a stack file, with domains that have been validated. Every key is optional. */
export interface SettingsInput
  extends Readonly<Omit<z.input<typeof settingsSchema>, "domains" | "alarmEmail">> {
  readonly domains?: DomainMapping;
  readonly alarmEmail?: pulumi.Input<string>;
}

/**
 * Completes settings that are written in a program with the defaults of the stack configuration, and validates them.
 *
 * @throws {InvalidInputError} if a setting is invalid; lists every problem
 */
export function withDefaults({ alarmEmail, ...values }: SettingsInput): Settings {
  // An output is validated by AWS only, because its value is not known yet.
  const known = typeof alarmEmail === "string" ? { alarmEmail } : {};
  const parsed = parseSettingValues({ ...values, ...known });
  if (!parsed.ok) throw new InvalidInputError(parsed.issues);
  const { alarmEmail: _known, ...settings } = parsed.settings;
  return { ...settings, ...(alarmEmail === undefined ? {} : { alarmEmail }) };
}
