import { describe } from "vitest";
import { testContractOnDynalite } from "./contract-on-dynalite.ts";

describe("DynamoDB store on dynalite, which does not return old items", () =>
  testContractOnDynalite("as-is"));
