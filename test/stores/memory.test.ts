import { describe, test } from "vitest";
import { storeContract } from "../../lib/stores/contract/index.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";

describe("the memory store keeps every promise of a store", () => {
  for (const { name: promise, check } of storeContract) test(promise, () => check(createMemoryStore()));
});
