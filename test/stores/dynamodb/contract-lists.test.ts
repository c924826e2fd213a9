import { describe } from "vitest";
import { testContractOnDynalite } from "./contract-on-dynalite.ts";

describe("the DynamoDB store lists orders as the store contract says, on dynalite, extended to return old items as AWS does", () =>
  testContractOnDynalite("all-old", "lists"));
