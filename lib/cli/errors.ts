import { CommanderError } from "commander";
import {
  errorMessage,
  explainIssues,
  type Issue,
  invalidInput,
  isInvalidInput,
  isNewerSchema,
  isStoreUnavailable,
  StoreOrdersError,
  StoreUnavailableError,
} from "../core/errors.ts";
import { escapeControls, escapeLine, toPrintedJson } from "../core/text.ts";
import { systemErrorCode } from "../files/read.ts";
import { DamagedOrderError } from "../orders/wire.ts";

export const EXIT = {
  success: 0,
  /** An item failed, such as a line of an import or a host of a check. */
  failed: 1,
  /** Usage or configuration error: the same command fails until someone changes it. */
  usage: 2,
  /** The store cannot be reached, or the address not be listened on: the same command can succeed later. */
  unreachable: 3,
} as const;

export type ExitStatus = (typeof EXIT)[keyof typeof EXIT];

/** An address that cannot be listened on now, and perhaps later: a port in use, a network or a name that is not up yet. */
export class AddressUnavailableError extends StoreOrdersError {
  override readonly name = "AddressUnavailableError";
  readonly code = "address_unavailable";
  readonly retryable = true;
}

/** Maps a thrown error to an exit status. A database of a newer version is a usage error: a retry cannot succeed. */
export function toExitStatus(error: unknown): ExitStatus {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.success : EXIT.usage;
  if (isInvalidInput(error) || comesFromNewerSchema(error)) return EXIT.usage;
  return isStoreUnavailable(error) || error instanceof AddressUnavailableError
    ? EXIT.unreachable
    : EXIT.failed;
}

export interface ErrorReport {
  readonly code: string;
  readonly message: string;
  readonly issues?: readonly Issue[];
}

/** True if the arguments ask for JSON. Also known when the arguments cannot be parsed. */
export function wantsJson(argv: readonly string[]): boolean {
  const end = argv.indexOf("--");
  return argv.slice(0, end < 0 ? argv.length : end).includes("--json");
}

export function toErrorReport(error: unknown): ErrorReport {
  const message = errorMessage(error);
  if (error instanceof CommanderError) {
    // The message of Commander for a missing command is `(outputHelp)`.
    const missing = "A command is missing. Add --help for usage.";
    const isMissing = error.code === "commander.help";
    return { code: "usage_error", message: isMissing ? missing : message.replace(/^error: /, "") };
  }
  if (isInvalidInput(error)) return { code: error.code, message, issues: error.issues };
  if (comesFromNewerSchema(error)) return { code: "newer_schema", message };
  const isKnown =
    isStoreUnavailable(error) ||
    error instanceof DamagedOrderError ||
    error instanceof AddressUnavailableError;
  return { code: isKnown ? error.code : "internal_error", message };
}

/** True if a newer version has written the database, also if that was noticed while it was in use. */
function comesFromNewerSchema(error: unknown): boolean {
  return isNewerSchema(error) || (isStoreUnavailable(error) && isNewerSchema(error.cause));
}

export function formatErrorReport({ code, message, issues }: ErrorReport, json: boolean): string {
  const redact = (_key: string, value: unknown) =>
    typeof value === "string" ? withoutPasswords(value) : value;
  if (json) return toPrintedJson({ code, message, issues }, redact);
  if (issues === undefined || issues.length <= 1) return escapeLine(toPrinted(`error: ${message}`));
  const lines = issues.map((issue) => `\n  ${escapeLine(explainIssues([issue]))}`);
  return toPrinted(`error: The input has ${lines.length} errors:${lines.join("")}`);
}

/** The message of an error as it is printed. It can repeat an argument, such as a URL with a password. */
export function toPrinted(message: string): string {
  return escapeControls(withoutPasswords(message));
}

function withoutPasswords(message: string): string {
  return message.replace(/(:\/\/[^\s:/@]*):\S*@/g, "$1@").replace(/([?&]\w*password=)[^\s&']*/gi, "$1…");
}

export function explainMissingPackage(error: unknown): unknown {
  if (!(error instanceof Error && /MODULE_NOT_FOUND$/.test(systemErrorCode(error)))) return error;
  // By Node, and by Yarn's Plug'n'Play.
  const [, name] = /^(?:Cannot find package '|Required package: )([^'\s]+)/m.exec(error.message) ?? [];
  if (name === undefined) return error;
  const install = `Run 'npm install ${name}' (or 'yarn add ${name}'), with --global if store-orders was installed with it.`;
  return invalidInput(name, `The package is not installed, and this command needs it. ${install}`);
}

export function explainAwsConfiguration(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const noRegion = "The region is missing. Set AWS_REGION, or choose a profile with AWS_PROFILE.";
  if (error.message === "Region is missing") return invalidInput("AWS_REGION", noRegion);
  if (error.name !== "CredentialsProviderError") return error;
  const hint = "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or choose a profile with AWS_PROFILE.";
  // A machine may get them some time after its start.
  return new StoreUnavailableError(`AWS credentials: ${errorMessage(error)}. ${hint}`);
}
