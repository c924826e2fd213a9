import { settleWithin } from "./concurrency.ts";
import { errorMessage } from "./errors.ts";
import { escapeLine } from "./text.ts";

/** Receives each error that a hook threw, with the name of the hook. If it fails itself, `logHookError` gets the error. */
export type HookErrorReporter = (error: unknown, hook: string) => void;

export const logHookError: HookErrorReporter = (error, hook) => {
  // biome-ignore lint/suspicious/noConsole: the only place that every runtime has; an embedder passes its own.
  console.error(`store-orders: ${hook} failed: ${escapeLine(errorMessage(error))}`);
};

const MAX_HOOK_MS = 20_000;

/** Calls a hook of the embedder and waits for it. An error is reported and goes no further, nor does a hook that hangs. */
export async function callHook(name: string, hook: () => unknown, report: HookErrorReporter): Promise<void> {
  try {
    await settleWithin(MAX_HOOK_MS, hook(), "The hook");
  } catch (error) {
    reportSafely(error, name, report);
  }
}

/** Like `callHook`, but does not wait for the hook to finish. */
export function startHook(name: string, hook: () => unknown, report: HookErrorReporter): void {
  try {
    const result = hook();
    // A promise can be one of another realm or library.
    if (result) Promise.resolve(result).catch((error) => reportSafely(error, name, report));
  } catch (error) {
    reportSafely(error, name, report);
  }
}

export function reportSafely(error: unknown, name: string, report: HookErrorReporter): void {
  const failed = () => {
    if (report !== logHookError) reportSafely(error, name, logHookError);
  };
  try {
    Promise.resolve(report(error, name) as unknown).catch(failed);
  } catch {
    failed();
  }
}
