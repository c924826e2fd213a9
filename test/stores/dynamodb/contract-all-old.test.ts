import { describe } from "vitest";
import { testContractOnDynalite } from "./contract-on-dynalite.ts";

describe("DynamoDB store on dynalite, extended to return old items as AWS does", () =>
  testContractOnDynalite("all-old"));
