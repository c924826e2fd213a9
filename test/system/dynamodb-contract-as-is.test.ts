import { describe } from "vitest";
import { testContractOnDynalite } from "../stores/dynamodb/contract-on-dynalite.ts";

/** Those of the outbox fail conditions in the same way, and mostly wait. In those of lists, no condition on an item fails. */
describe.each(["admission", "other"] as const)(
  "the DynamoDB store fulfils the store contract (%s) on dynalite as is, which does not return old items",
  (part) => testContractOnDynalite("as-is", part),
);
