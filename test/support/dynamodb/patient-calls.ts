import { onTestFinished, vi } from "vitest";

/** Gives each call of a store a minute until the end of the test: the emulator is slow on a busy machine, unlike DynamoDB. */
export function makeCallsPatient(): void {
  onTestFinished(startPatience());
}

/** Does the same until the returned function is called, for tests that run side by side. */
export function startPatience(): () => void {
  const { timeout } = AbortSignal;
  const spy = vi
    .spyOn(AbortSignal, "timeout")
    .mockImplementation((ms) => timeout.call(AbortSignal, Math.max(ms, 60_000)));
  return () => void spy.mockRestore();
}
