import { describe } from "vitest";
import { testContractOnDynalite } from "../stores/dynamodb/contract-on-dynalite.ts";

/** It makes more calls than the store on DynamoDB, so it needs the cores to itself to stay within the call timeout. */
describe("the DynamoDB store fulfils the store contract on dynalite as is, which does not return old items", () =>
  testContractOnDynalite("as-is"));
