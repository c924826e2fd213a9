import { setTimeout as sleep } from "node:timers/promises";
import { type Command, InvalidArgumentError } from "commander";
import { MINUTE_MS } from "../../plans/windows.ts";
import { type CommandContext, globalFlags } from "../context.ts";
import { EXIT } from "../exit-status.ts";
import type { ShiftResult } from "../release/shift.ts";
import { printJson } from "../results.ts";

/** `release`: moves the traffic of a deployed stack to its new version. */
export function addReleaseCommand(parent: Command, context: CommandContext): void {
  parent
    .command("release")
    .description(
      "Moves the traffic of a stack with 'store-orders:canary' to its new version: a part first, and all of it if no " +
        "alarm fires. Otherwise the old version gets all traffic again, and the command exits with 1.",
    )
    .requiredOption("--stack <file>", "all outputs of the stack, or - for standard input")
    .option("--minutes <n>", "how long the new version is watched", readMinutes, 5)
    .option("--percent <n>", "the part of the traffic that it gets meanwhile", readPercent, 10)
    .option("--rollback", "give all traffic back to the version before the last release, at once")
    .addHelpText("after", HELP)
    .action(async (flags: ReleaseFlags, command: Command) => {
      const { explainReleaseError } = await import("../release/errors.ts");
      const result = await run(context, flags).catch((error: unknown) => {
        throw explainReleaseError(error);
      });
      if (!result.ok) {
        context.reportError({ code: result.code, message: explain(result) });
        return context.exit(EXIT.failed);
      }
      if (globalFlags(command).json) await printJson(context, result);
      else await context.terminal.print(`${describe(result)}\n`);
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
  const [{ readStackOutputs }, { OUTPUTS_HINT, parseReleaseTarget }] = await Promise.all([
    import("../stack-outputs.ts"),
    import("../release/target.ts"),
  ]);
  const target = parseReleaseTarget(await readStackOutputs(flags.stack, OUTPUTS_HINT, terminal));
  if (target === undefined) {
    terminal.log("The stack has no canary: 'pulumi up' has moved the traffic already.");
    return { ok: true, state: "unchanged", functions: [] };
  }
  const [{ createAwsPlatform }, { rollBack, shift }] = await Promise.all([
    import("../release/aws.ts"),
    import("../release/shift.ts"),
  ]);
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

function describe({ state, functions }: Extract<ShiftResult, { ok: true }>): string {
  const moved = functions
    .map((each) => `${each.function} from version ${each.from} to ${each.to}`)
    .join(", ");
  if (state === "unchanged") return "Nothing to shift.";
  return state === "shifted" ? `Shifted ${moved}.` : `Rolled back ${moved}.`;
}

function explain(result: Extract<ShiftResult, { ok: false }>): string {
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
  throw new InvalidArgumentError("Use a number of minutes from 0 to 60; 0 moves all traffic at once.");
}

function readPercent(text: string): number {
  const percent = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (percent >= 1 && percent <= 99) return percent;
  throw new InvalidArgumentError("Use a whole number from 1 to 99.");
}

const HELP = `
Examples:
  $ pulumi up --stack production && pulumi stack output --json --stack production > outputs.json
  $ store-orders release --stack outputs.json
  $ store-orders release --stack outputs.json --rollback`;
