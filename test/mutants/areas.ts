import { globSync } from "node:fs";

/** A part of the library, with the tests that are to notice a change of it. */
export interface Area {
  readonly name: string;
  readonly sources: readonly string[];
  readonly tests: readonly string[];
  /** The paths of the tests that mirror the sources. They run first. */
  readonly ownTests: RegExp;
  /** The least share of the mutants that the tests kill, from 0 to 1. */
  readonly required: number;
}

export const AREAS: readonly Area[] = [
  {
    name: "rules",
    sources: globSync("lib/{orders,plans,core}/**/*.ts"),
    tests: ["test/{orders,plans,core,http}/**/*.test.ts", "test/stores/memory.test.ts"],
    ownTests: /test\/(orders|plans|core)\//,
    required: 0.95,
  },
  {
    name: "accounts",
    sources: globSync("lib/accounts/**/*.ts"),
    tests: ["test/{accounts,http}/**/*.test.ts", "test/stores/memory.test.ts"],
    ownTests: /test\/accounts\//,
    required: 0.95,
  },
  {
    name: "sqlite",
    sources: globSync("lib/stores/{*,sqlite/*}.ts"),
    tests: [
      "test/stores/!(contract).test.ts",
      "test/stores/sqlite/**/*.test.ts",
      "test/stores/sqlite/processes.test.ts",
      "test/faults/sqlite-unusable-file.test.ts",
    ],
    ownTests: /test\/stores\//,
    required: 0.95,
  },
  {
    name: "dynamodb",
    sources: globSync("lib/stores/dynamodb/*.ts"),
    tests: [
      "test/stores/dynamodb/**/*.test.ts",
      "test/stores/dynamodb/contract-other.test.ts",
      "test/stores/dynamodb/contract-outbox.test.ts",
      "test/stores/check.test.ts",
    ],
    ownTests: /test\/stores\/dynamodb\/(?!contract)/,
    required: 0.95,
  },
  {
    name: "postgres",
    sources: globSync("lib/stores/postgres/*.ts"),
    tests: [
      "test/stores/postgres/**/*.test.ts",
      "test/stores/postgres/model.test.ts",
      "test/stores/check.test.ts",
      // Locks and lost connections can be seen only with several connections. Skipped where there is no server.
      "test/system/postgres-{contract,sessions}.test.ts",
    ],
    ownTests: /test\/stores\/postgres\/(?!contract)/,
    required: 0.95,
  },
  {
    name: "domains",
    sources: globSync("lib/domains/**/*.ts"),
    tests: [
      "test/domains/**/*.test.ts",
      "test/console/domains/*.test.ts",
      "test/documents/editor-schemas.test.ts",
    ],
    ownTests: /test\/domains\//,
    required: 0.9,
  },
  {
    name: "http",
    sources: globSync("lib/{http,client}/**/*.ts"),
    tests: ["test/{http,client}/**/*.test.ts", "test/node/{handler,request,response}.test.ts"],
    ownTests: /test\/(http|client)\//,
    required: 0.9,
  },
];
