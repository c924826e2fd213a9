import { defineConfig } from "vitest/config";
import base from "../vitest.config.ts";
import { AREAS } from "./areas.ts";

/** The tests of the area in `MUTANTS_AREA`, in the order of their names, so that two runs are alike. */
export default defineConfig({
  ...base,
  test: {
    ...base.test,
    include: [...(AREAS.find(({ name }) => name === process.env["MUTANTS_AREA"])?.tests ?? [])],
    sequence: {},
  },
});
