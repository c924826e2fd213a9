import { CommanderError } from "commander";
import { escapeControls } from "../domains/escape-controls.ts";
import {
  errorMessage,
  explainIssues,
  type Issue,
  isInvalidInput,
  isNewerSchema,
  isStoreUnavailable,
} from "../errors.ts";

/** Why a command failed. */
export interface ErrorReport {
  /** What happened, for programs: the code of an error or of a failed operation. */
  readonly code: string;
  readonly message: string;
  /** Every problem with an input. */
  readonly issues?: readonly Issue[];
}

/** True if the arguments ask for JSON. Also known when the arguments cannot be parsed. */
export function wantsJson(argv: readonly string[]): boolean {
  const end = argv.indexOf("--");
  return argv.slice(0, end < 0 ? argv.length : end).includes("--json");
}

/** Describes a thrown error. */
export function toErrorReport(error: unknown): ErrorReport {
  if (error instanceof CommanderError) return { code: "usage_error", message: usageMessage(error) };
  const message = errorMessage(error);
  if (isInvalidInput(error)) return { code: error.code, message, issues: error.issues };
  return { code: isStoreUnavailable(error) || isNewerSchema(error) ? error.code : "internal_error", message };
}

/** Formats a report as text, with one line per issue if there are several, or as one line of JSON. */
export function formatErrorReport({ code, message, issues }: ErrorReport, json: boolean): string {
  if (json) return JSON.stringify({ code, message, issues });
  if (issues === undefined || issues.length <= 1) return escapeControls(`error: ${message}`);
  const lines = issues.map((issue) => `\n  ${explainIssues([issue])}`);
  return escapeControls(`error: The input has ${lines.length} errors:${lines.join("")}`);
}

/** Commander's message for a missing command is `(outputHelp)`. */
function usageMessage({ code, message }: CommanderError): string {
  return code === "commander.help"
    ? "A command is missing. Add --help for usage."
    : message.replace(/^error: /, "");
}
