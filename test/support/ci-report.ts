import { appendFileSync } from "node:fs";
import type { Reporter, SerializedError, TestModule } from "vitest/node";

const MAX_LINES = 6;

/** Appends one line of JSON to the file `CI_REPORT`: how many tests passed, which of them only when they were run again, and each failure with its error. Hooks and errors outside of tests, which the JSON of Vitest leaves out, are failures too. */
export default class CiReport implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly SerializedError[]): void {
    let passed = 0;
    const failures: string[] = [];
    const flaky: string[] = [];
    const fail = (where: string, errors: readonly SerializedError[]) => {
      const lines = errors
        .map(({ stack, message }) => stack ?? message)
        .join("\n")
        .split("\n")
        .filter((line) => !line.includes("/node_modules/"))
        .slice(0, MAX_LINES);
      failures.push([where, ...lines].join("\n  "));
    };
    for (const module of modules) {
      const file = module.relativeModuleId;
      if (module.errors().length > 0) fail(file, module.errors());
      for (const suite of module.children.allSuites()) {
        if (suite.errors().length > 0) fail(`${file} > ${suite.fullName}`, suite.errors());
      }
      for (const test of module.children.allTests()) {
        const { state, errors = [] } = test.result();
        if (state === "passed") passed++;
        if (test.diagnostic()?.flaky) flaky.push(`${file} > ${test.fullName}`);
        if (state === "failed") fail(`${file} > ${test.fullName}`, errors);
      }
    }
    if (unhandledErrors.length > 0) fail("outside of the tests", unhandledErrors);
    const { CI_REPORT = "" } = process.env;
    appendFileSync(CI_REPORT, `${JSON.stringify({ passed, flaky, failures })}\n`);
  }
}
