import { setTimeout as sleep } from "node:timers/promises";
import type { Command } from "commander";
import * as z from "zod";
import { errorMessage, invalidInput, StoreUnavailableError } from "../../core/errors.ts";
import { MINUTE_MS } from "../../plans/windows.ts";
import { invalid, readNumberBetween } from "../arguments.ts";
import type { CommandContext } from "../context.ts";
import { explainAwsConfiguration, explainMissingPackage } from "../errors.ts";
import { printJson } from "../output.ts";
import { type ReleaseTarget, rollBack, type ShiftResult, shift } from "../release-shift.ts";
import { readStackOutputs } from "../stack-outputs.ts";

/** `release`: moves the traffic of a deployed stack to its new version. */
export function defineRelease(command: Command, context: CommandContext): void {
  command
    .requiredOption("--stack <file>", "all outputs of the stack, or - for standard input")
    .option("--minutes <n>", "how long the new version is watched", readMinutes, 5)
    .option("--percent <n>", "the part of the traffic that it gets meanwhile", readNumberBetween(1, 99), 10)
    .option("--rollback", "give all traffic back to the version before the last release, at once")
    .addHelpText("after", HELP)
    .action(async (flags: ReleaseFlags) => {
      const result = await run(context, flags).catch((error: unknown) => {
        throw explainReleaseError(error);
      });
      const message = describe(result);
      if (!result.ok) context.fail({ code: result.code, message });
      else if (context.flags.json) await printJson(context, result);
      else await context.terminal.print(`${message}\n`);
    });
}

interface ReleaseFlags {
  readonly stack: string;
  readonly minutes: number;
  readonly percent: number;
  readonly rollback?: boolean;
}

const POLL_MS = 10_000;

async function run({ terminal, waitForStop }: CommandContext, flags: ReleaseFlags): Promise<ShiftResult> {
  const target = parseReleaseTarget(await readStackOutputs(flags.stack, OUTPUTS_HINT, terminal));
  if (target === undefined) {
    terminal.log("The stack has no canary: 'pulumi up' has moved the traffic already.");
    return { ok: true, state: "unchanged", functions: [] };
  }
  // The AWS clients are optional packages.
  const { createAwsPlatform } = await import("../release-aws.ts");
  const { log } = terminal;
  if (flags.rollback === true) return rollBack(target, createAwsPlatform(), { log });
  const stopped = waitForStop().then(() => "stopped" as const);
  return shift(target, createAwsPlatform(), {
    watchMs: flags.minutes * MINUTE_MS,
    weight: flags.percent / 100,
    pollMs: POLL_MS,
    wait: (ms) => Promise.race([stopped, sleep(ms, "elapsed" as const)]),
    log,
  });
}

function describe(result: ShiftResult): string {
  if (result.ok) {
    const moved = result.functions.map((each) => `${each.function} from version ${each.from} to ${each.to}`);
    if (result.state === "unchanged") return "Nothing to shift.";
    return `${result.state === "shifted" ? "Shifted" : "Rolled back"} ${moved.join(", ")}.`;
  }
  switch (result.code) {
    case "alarm_firing":
      return `The shift was not begun, because these alarms fire already: ${result.alarms.join(", ")}. Wait until they are quiet.`;
    case "reverted":
      return `These alarms fired, so the old version has all traffic again: ${result.alarms.join(", ")}. Read the log of the new version.`;
    case "stopped":
      return "The shift was stopped, so the old version has all traffic again.";
    case "no_previous_version":
      return "There is no version to go back to: the last release shifted nothing.";
  }
}

function readMinutes(text: string): number {
  const minutes = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (minutes <= 60) return minutes;
  return invalid("Use a number of minutes from 0 to 60; 0 moves all traffic at once.");
}

const releaseSchema = z.object({
  functions: z
    .array(z.object({ name: z.string(), alias: z.string(), version: z.string().regex(/^\d+$/) }))
    .min(1),
  alarms: z.array(z.string()).min(1),
});

const OUTPUTS_HINT = "Pass what 'pulumi stack output --json' prints.";

/**
 * Finds the release in the outputs of a stack. `undefined` if the stack has no canary, so that an update moves all
 * traffic itself. Throws an `InvalidInputError` if they are not the outputs of this service.
 */
function parseReleaseTarget(outputs: unknown): ReleaseTarget | undefined {
  const { release, ordersTable } = Object(outputs) as { release?: unknown; ordersTable?: unknown };
  if (release === undefined && typeof ordersTable === "string") return undefined;
  const parsed = releaseSchema.safeParse(release);
  if (parsed.success) return parsed.data;
  const message = `These outputs have no 'release' with functions and alarms. ${OUTPUTS_HINT}`;
  throw invalidInput("--stack", message);
}

/** Replaces an error of the AWS clients by one that names the fix, and has the exit status that belongs to it. */
function explainReleaseError(thrown: unknown): unknown {
  const error = explainMissingPackage(explainAwsConfiguration(thrown), CLIENTS);
  if (error !== thrown || !(error instanceof Error)) return error;
  if (error.name === "PreconditionFailedException")
    return new Error(
      "Someone else has changed an alias. Check that no other release runs, then repeat this one.",
    );
  if (error.name === "ResourceNotFoundException") {
    const hint = "Pass the outputs of the last update, and check AWS_REGION.";
    return invalidInput("--stack", `${error.message}. ${hint}`);
  }
  const { $metadata } = error as { $metadata?: { httpStatusCode?: number } };
  if ($metadata !== undefined && ($metadata.httpStatusCode ?? 500) >= 500)
    return new StoreUnavailableError(`AWS cannot be reached: ${errorMessage(error)}`, { cause: error });
  return error;
}

const CLIENTS = "@aws-sdk/client-lambda @aws-sdk/client-cloudwatch";

const HELP = `
Examples:
  $ pulumi up --stack production && pulumi stack output --json --stack production > outputs.json
  $ store-orders release --stack outputs.json
  $ store-orders release --stack outputs.json --rollback`;
