import { z } from "zod";
import { domainsFileJsonSchema } from "../../domains/schema.ts";
import { hostReportsJsonSchema } from "../../domains/verification/report-schema.ts";
import { watchChangeSchema } from "../../domains/watch/change-schema.ts";
import type { CommandContext } from "../context.ts";
import type { SchemaName } from "./domains.ts";

const SCHEMAS: Readonly<Record<SchemaName, () => object>> = {
  file: domainsFileJsonSchema,
  check: hostReportsJsonSchema,
  watch: () => z.toJSONSchema(watchChangeSchema),
};

/** Prints a JSON Schema. */
export async function printSchema({ terminal }: CommandContext, of: SchemaName): Promise<void> {
  await terminal.print(`${JSON.stringify(SCHEMAS[of](), null, 2)}\n`);
}
