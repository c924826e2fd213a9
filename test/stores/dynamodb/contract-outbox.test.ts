import { describe } from "vitest";
import { testContractOnDynalite } from "./contract-on-dynalite.ts";

// They mostly wait.
describe.concurrent("the DynamoDB store fulfils the contract of an outbox on dynalite, extended to return old items", () =>
  testContractOnDynalite("all-old", "outbox"));
