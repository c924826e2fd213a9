import { describe } from "vitest";
import { testContractOnDynalite } from "./contract-on-dynalite.ts";

describe("the DynamoDB store fulfils the store contract on dynalite, extended to return old items as AWS does", () =>
  testContractOnDynalite("all-old", "other"));
