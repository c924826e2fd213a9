import { describe, test } from "vitest";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import { expectKeysOfOneAccount } from "./key-of-another.ts";
import { testContract } from "./test-contract.ts";

describe("the memory store fulfils the store contract", () => {
  const reason = "each memory store has its own data, in the memory of its process";
  testContract("memory", () => ({ store: createMemoryStore() }), {
    interrupt: reason,
    loseResponse: reason,
    damage: "it keeps objects, not text",
  });

  test("a key with the hash of another account's is an error", () =>
    expectKeysOfOneAccount(createMemoryStore()));
});
