import { expect, test } from "vitest";
import { EXIT, toExitStatus } from "../../lib/cli/exit-status.ts";

/** An error of another copy of the package: the same code, but not the same class. */
function foreignError(code: string, properties: object = {}): Error {
  return Object.assign(new Error("The message."), { code, ...properties });
}

test.each([
  ["invalid_input", EXIT.usage],
  ["newer_schema", EXIT.usage],
  ["store_unavailable", EXIT.unreachable],
  ["EPIPE", EXIT.failed],
])("an error with the code %s exits with %i, whatever its class", (code, status) => {
  expect(toExitStatus(foreignError(code))).toBe(status);
});
