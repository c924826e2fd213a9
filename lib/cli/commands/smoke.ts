import { type Command, InvalidArgumentError } from "commander";
import { escapeControls } from "../../domains/escape-controls.ts";
import { invalidInput } from "../../errors.ts";
import { BASE_PATH } from "../../http/operations.ts";
import { readDuration, readInt64 } from "../arguments.ts";
import { type CommandContext, globalFlags } from "../context.ts";
import { EXIT } from "../exit-status.ts";
import { formatResults, printJson } from "../results.ts";

/** `smoke`: tests a deployed service from the outside. */
export function addSmokeCommand(parent: Command, context: CommandContext): void {
  parent
    .command("smoke")
    .description(
      "Tests a deployed service: list, headers, limits, 401, readiness, and the cancel of an order that you name. " +
        "Exits with 1 if anything is wrong, with 3 if the service cannot be reached.",
    )
    .argument("<base-url>", `the base URL of the service, which ends with ${BASE_PATH}`)
    .option("--key <key>", "an API key of a test account (STORE_ORDERS_KEY)")
    .option("--order <id>", "a pending order to cancel, twice (default: cancelling is not tested)", readInt64)
    .option("--timeout <duration>", "the limit for each response (default: 30s)", readTimeout)
    .addHelpText("after", HELP)
    .action(async (url: string, flags: SmokeFlags, command: Command) => {
      const target = {
        baseUrl: readBaseUrl(url),
        key: readKey(flags.key ?? context.env["STORE_ORDERS_KEY"]),
        timeoutMs: flags.timeout ?? DEFAULT_TIMEOUT_MS,
        ...(flags.order === undefined ? {} : { order: flags.order }),
      };
      const { runSmokeTest } = await import("../smoke/smoke-test.ts");
      const report = await runSmokeTest(target);
      if (!report.ok) {
        context.reportError({ code: report.code, message: `${target.baseUrl}: ${report.message}` });
        return context.exit(EXIT.unreachable);
      }
      const ok = report.checks.every((check) => check.ok);
      if (globalFlags(command).json)
        await printJson(context, { baseUrl: target.baseUrl, ok, checks: report.checks });
      else {
        const rows = report.checks.map((check) => ({
          check: check.check,
          result: check.ok ? "ok" : "failed",
          problem: check.problems.map(escapeControls),
        }));
        await context.terminal.print(formatResults(["check", "result", "problem"], rows));
      }
      if (!ok) context.exit(EXIT.failed);
    });
}

interface SmokeFlags {
  readonly key?: string;
  readonly order?: bigint;
  readonly timeout?: number;
}

const DEFAULT_TIMEOUT_MS = 30_000;
const MAX_TIMEOUT_MS = 3_600_000;

function readTimeout(text: string): number {
  const timeoutMs = readDuration(text);
  if (timeoutMs >= 1 && timeoutMs <= MAX_TIMEOUT_MS) return timeoutMs;
  throw new InvalidArgumentError("Use a duration from 1ms to 1h, such as 30s.");
}

function readBaseUrl(text: string): string {
  const url = URL.parse(text);
  const path = url?.pathname.replace(/\/$/, "");
  if (url?.protocol.match(/^https?:$/) && path?.endsWith(BASE_PATH)) return `${url.origin}${path}`;
  const message = `Give the base URL of the service, such as https://orders.example.com${BASE_PATH}.`;
  throw invalidInput("base-url", message);
}

/** The error does not repeat the key, which is a secret. */
function readKey(key: string | undefined): string {
  if (key !== undefined && /^[\x21-\x7e]+$/.test(key)) return key;
  const message = "Give an API key with --key or in STORE_ORDERS_KEY; 'keys issue' prints one.";
  throw invalidInput("--key", message);
}

const HELP = `
Examples:
  $ store-orders smoke https://orders.example.com/v1 --key "$KEY"
  $ ORDER=$(store-orders orders place --dynamodb orders --json | jq .id)
  $ STORE_ORDERS_KEY="$KEY" store-orders smoke "$(pulumi stack output baseUrl)" --order "$ORDER" --json`;
