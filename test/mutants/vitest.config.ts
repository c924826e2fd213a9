import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import base, { LONG_TESTS } from "../vitest.config.ts";
import { AREAS } from "./areas.ts";

const area = AREAS.find(({ name }) => name === process.env["MUTANTS_AREA"]);

/** The area's own tests come first: they are short, and the first failure ends the run. */
class OwnTestsFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isOwn = ({ moduleId }: TestSpecification) => area?.ownTests.test(moduleId) ?? false;
    const sorted = files.toSorted((a, b) => (a.moduleId < b.moduleId ? -1 : 1));
    return [...sorted.filter(isOwn), ...sorted.filter((file) => !isOwn(file))];
  }
}

/** The tests of the area in `MUTANTS_AREA`. One that takes long is left out unless the area names its file. */
export default defineConfig({
  ...base,
  test: {
    ...base.test,
    include: [...(area?.tests ?? [])],
    exclude: LONG_TESTS.filter((path) => !area?.tests.includes(path)),
    sequence: { sequencer: OwnTestsFirst },
  },
});
