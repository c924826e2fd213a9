import { describe, test } from "vitest";
import { storeContract } from "../../lib/stores/contract/index.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";

describe("the memory store fulfils the store contract", () => {
  for (const { name, check } of storeContract) test(name, () => check(createMemoryStore()));
});
