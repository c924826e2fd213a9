import type { Command } from "commander";
import { readBaseUrl } from "../arguments.ts";
import type { CommandContext } from "../context.ts";

/** `openapi`: the OpenAPI document. */
export function addOpenApiCommand(parent: Command, { terminal }: CommandContext): void {
  parent
    .command("openapi")
    .description("Prints the OpenAPI 3.1 document.")
    .option("--server <url...>", "a base URL of the service (repeatable)", readBaseUrl)
    .addHelpText("after", HELP)
    .action(async ({ server }: { server?: readonly string[] }) => {
      const { openApiDocument } = await import("../../http/openapi/document.ts");
      const servers = server === undefined ? {} : { servers: server.map((url) => ({ url })) };
      await terminal.print(`${JSON.stringify(openApiDocument(servers), null, 2)}\n`);
    });
}

const HELP = `
Examples:
  $ store-orders openapi > openapi.json
  $ store-orders openapi --server https://orders.example.com/v1 --server https://staging.orders.example.com/v1`;
