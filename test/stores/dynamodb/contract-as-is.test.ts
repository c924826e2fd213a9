import { describe } from "vitest";
import { testContractOnDynalite } from "./contract-on-dynalite.ts";

describe("the DynamoDB store fulfils the store contract on dynalite as is, which does not return old items", () =>
  testContractOnDynalite("as-is"));
