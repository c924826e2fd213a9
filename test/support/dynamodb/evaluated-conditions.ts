import { createRequire } from "node:module";
import type { DynamoDBClient, UpdateItemCommandInput } from "@aws-sdk/client-dynamodb";
import type { Item } from "../../../lib/stores/dynamodb/table.ts";
import { type ConditionParser, cacheParsedConditions } from "./parsed-conditions.ts";

const require = createRequire(import.meta.url);
const parser: ConditionParser = require("dynalite/db/conditionParser");
const { compare, checkConditional }: Db = require("dynalite/db");
cacheParsedConditions(parser);

interface Db {
  compare(): unknown;
  checkConditional(request: object, existing: Item): Error | null;
}

/**
 * A client over a single item that never changes: it evaluates the condition of each write in this process, with the
 * rules of dynalite, and records whether it held.
 */
export function clientOverItem(item: Item): {
  readonly client: DynamoDBClient;
  readonly writes: readonly boolean[];
} {
  const writes: boolean[] = [];
  const send = async ({ input }: { readonly input: UpdateItemCommandInput }) => {
    const holds = conditionHolds(input, item);
    writes.push(holds);
    if (holds) return { Attributes: item };
    throw Object.assign(new Error("The condition failed."), {
      name: "ConditionalCheckFailedException",
      Item: item,
    });
  };
  return { client: { send } as unknown as DynamoDBClient, writes };
}

function conditionHolds(input: UpdateItemCommandInput, item: Item): boolean {
  const context = {
    attrNames: input.ExpressionAttributeNames ?? {},
    attrVals: input.ExpressionAttributeValues ?? {},
    ...{ unusedAttrNames: {}, unusedAttrVals: {}, isReserved: () => false, compare },
  };
  const parsed = parser.parse(input.ConditionExpression ?? "", { context });
  if (typeof parsed !== "object") throw new Error(`${parsed}`);
  return checkConditional({ _condition: parsed }, item) === null;
}
