import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Vitest starts large files first unless it knows how long they take. These are small, but would end after all others, some because they mostly wait. */
const LONGEST = [
  "test/faults/bounded-memory.test.ts",
  "test/faults/linearizability.test.ts",
  "test/faults/crash.test.ts",
  "test/system/package-install.test.ts",
  "test/system/package-functions.test.ts",
  "test/system/console.test.ts",
  "test/system/examples-frameworks.test.ts",
  "test/system/examples-rules.test.ts",
  "test/system/package-types.test.ts",
  "test/system/dynamodb-contract-as-is.test.ts",
  "test/stores/dynamodb/contract-other.test.ts",
  "test/stores/dynamodb/contract-lists.test.ts",
  "test/stores/dynamodb/contract-outbox.test.ts",
  "test/system/container.test.ts",
  "test/system/release.test.ts",
  "test/system/postgres-contract.test.ts",
];

/** The order in which test files start. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLong = ({ moduleId }: TestSpecification) => LONGEST.some((name) => moduleId.endsWith(name));
    const sorted = await super.sort(files);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}
