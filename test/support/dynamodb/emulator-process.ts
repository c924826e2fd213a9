/**
 * dynalite in a separate process: `emulator-process.ts all-old|as-is PORT [DIRECTORY]`. Sends its port to the parent
 * once it listens, and exits with the parent.
 */
import type { Server } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { cacheParsedConditions } from "./parsed-conditions.ts";

const [oldItems, port = "0", path] = process.argv.slice(2);
const require = createRequire(import.meta.url);
cacheParsedConditions(require("dynalite/db/conditionParser"));
if (oldItems === "all-old") returnOldItems();
// Without this, dynalite ignores it and counts half of the read units.
require("dynalite/validations/scan").types.ConsistentRead = { type: "Boolean" };

const dynalite: (options: object) => Server = require("dynalite");
const server = dynalite({ createTableMs: 0, deleteTableMs: 0, ...(path === undefined ? {} : { path }) });
server.listen(Number(port), "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
process.on("disconnect", () => process.exit());

/** DynamoDB returns the item that failed a condition if the request asks for it. dynalite does not. */
function returnOldItems(): void {
  const db: Db = require("dynalite/db");
  const check = db.checkConditional;
  db.checkConditional = (request, existing) => {
    const failure = check(request, existing);
    if (
      request.ReturnValuesOnConditionCheckFailure === "ALL_OLD" &&
      existing !== undefined &&
      failure !== null
    ) {
      Object.assign(failure.body, { Item: existing });
    }
    return failure;
  };
  for (const operation of ["putItem", "updateItem", "deleteItem"]) {
    const { types } = require(`dynalite/validations/${operation}`);
    types.ReturnValuesOnConditionCheckFailure = { type: "String", enum: ["ALL_OLD", "NONE"] };
  }
}

interface Db {
  checkConditional(
    request: { readonly ReturnValuesOnConditionCheckFailure?: string },
    existing: object | undefined,
  ): { readonly body: object } | null;
}
