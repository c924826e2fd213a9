import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import * as z from "zod";
import { defineOperation } from "../../../lib/http/define-operation.ts";
import { openApiDocument } from "../../../lib/http/openapi.ts";
import { OPERATIONS } from "../../../lib/http/operations.ts";
import { V2_PREVIEW_OPERATIONS } from "../../../lib/http/v2-preview.ts";
import { orderJsonSchema } from "../../../lib/orders/order.ts";
import { orderSchema } from "../../../lib/orders/order-schema.ts";
import { homeOfPackages } from "../../support/install-packages.ts";

const PROGRAM = join(homeOfPackages("system"), "node_modules/@redocly/cli/bin/cli.js");
const CONFIG = new URL("redocly.yaml", import.meta.url).pathname;

interface Report {
  readonly totals: Readonly<Record<"errors" | "warnings" | "ignored", number>>;
  readonly problems: readonly {
    readonly ruleId: string;
    readonly message: string;
    readonly location: unknown;
  }[];
}

/** What Redocly's linter says of a document. It is kept from telling anybody about it. */
async function lint(document: object): Promise<Report> {
  const folder = await mkdtemp(join(tmpdir(), "store-orders-lint-"));
  try {
    const file = join(folder, "openapi.json");
    await writeFile(file, JSON.stringify(document));
    const options = ["lint", file, "--config", CONFIG, "--format", "json"];
    const env = { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" };
    const output = await new Promise<string>((resolve) => {
      execFile(process.execPath, [PROGRAM, ...options], { env }, (_failure, stdout, stderr) =>
        resolve(stdout === "" ? stderr : stdout),
      );
    });
    return JSON.parse(output) as Report;
  } finally {
    await rm(folder, { recursive: true });
  }
}

test("the linter finds no problem in the document, with every marker that it can have", async () => {
  const operations = OPERATIONS.map((operation) => ({ ...operation, stability: "experimental" as const }));
  const place = defineOperation({
    ...{
      id: "place",
      method: "POST",
      path: "/store/orders",
      tag: "orders",
      summary: "Place",
      description: "A.",
    },
    ...{ success: { status: 201, description: "Placed." }, errors: ["order_not_found"] as const },
    ownErrors: { order_conflict: { status: 409, message: "It exists." } },
    query: z.object({ dry: z.stringbool().describe("Whether to store nothing.") }),
    body: orderSchema,
    jsonSchemas: { body: orderJsonSchema },
    handle: async () => ({ status: 201 }),
  });
  const openapi = { title: "Pet Shop", description: "Our API.", contact: { email: "api@shop.example" } };
  const own = [...operations, place, ...V2_PREVIEW_OPERATIONS];
  for (const document of [openApiDocument(), openApiDocument({ operations: own, openapi })]) {
    const { totals, problems } = await lint(document);
    // The licence of a document with a title of its own is its owner's.
    const { info } = document as { readonly info: object };
    const expected = "license" in info ? [] : ["info-license"];
    expect(problems.map(({ ruleId }) => ruleId)).toEqual(expected);
    expect(totals).toEqual({ errors: expected.length, warnings: 0, ignored: 0 });
  }
});

test("the linter finds a problem in an invalid document", async () => {
  const document = JSON.parse(JSON.stringify(openApiDocument()).replaceAll('"status":404', '"status":"404"'));
  const { problems } = await lint(document);
  expect(problems.map(({ ruleId }) => ruleId)).toContain("no-invalid-media-type-examples");
});
