import type { Command } from "commander";
import { webAddress } from "../arguments.ts";
import type { CommandContext } from "../context.ts";

/** `openapi`: the interface description, for tools. */
export function addOpenApiCommand(parent: Command, { terminal }: CommandContext): void {
  parent
    .command("openapi")
    .description("Print the OpenAPI 3.1 document.")
    .option("--server <url>", "an address of the service; can be given several times", webAddress)
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
