import { expect, test } from "vitest";
import { toErrorReport } from "../../lib/cli/error-report.ts";
import { toExitStatus } from "../../lib/cli/exit-status.ts";
import { explainMissingPackage } from "../../lib/cli/missing-package.ts";

test("a package that is not installed exits with 2 and a message that says how to install it", () => {
  const text = "Cannot find package '@aws-sdk/client-dynamodb' imported from /lib/cli/tables.js";
  const error = explainMissingPackage(Object.assign(new Error(text), { code: "ERR_MODULE_NOT_FOUND" }));
  expect(toExitStatus(error)).toBe(2);
  expect(toErrorReport(error).message).toBe(
    "@aws-sdk/client-dynamodb: The package is not installed, and this command needs it. " +
      "Run 'npm install @aws-sdk/client-dynamodb', with --global if store-orders was installed with it.",
  );
});

test.each([
  [
    "a missing file",
    Object.assign(new Error("Cannot find module '/x.js'"), { code: "ERR_MODULE_NOT_FOUND" }),
  ],
  ["another error", new Error("Cannot find package 'x'")],
  ["no error", "Cannot find package 'x'"],
])("%s stays as it is", (_name, error) => {
  expect(explainMissingPackage(error)).toBe(error);
});
