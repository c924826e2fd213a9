import { expect, test } from "vitest";
import { useConsole } from "../support/console.ts";

test("starting the console does not replace the global Request and Response", async () => {
  const globals = [Request, Response];
  await useConsole();
  expect([Request, Response]).toEqual(globals);
});
