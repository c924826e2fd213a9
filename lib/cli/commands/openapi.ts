import type { Command } from "commander";
import { openApiDocument } from "../../http/openapi.ts";
import { each, readBaseUrl } from "../arguments.ts";
import type { CommandContext } from "../context.ts";
import { readPlans } from "../settings.ts";

export function defineOpenApi(command: Command, { terminal, env, flags }: CommandContext): void {
  command
    .option("--server <url...>", "a base URL of the service (repeatable)", each(readBaseUrl))
    .addHelpText("after", HELP)
    .action(async ({ server }: { server?: readonly string[] }) => {
      const plans = await readPlans(flags, env);
      const servers = server === undefined ? {} : { servers: server.map((url) => ({ url })) };
      await terminal.print(`${JSON.stringify(openApiDocument({ plans, ...servers }), null, 2)}\n`);
    });
}

const HELP = `
Examples:
  $ store-orders openapi --server https://orders.example.com/v1 --server https://staging.orders.example.com/v1`;
