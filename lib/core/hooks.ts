import { errorMessage } from "./errors.ts";

/** Receives each error that a hook threw, with the name of the hook. Errors that it throws itself are ignored. */
export type HookErrorReporter = (error: unknown, hook: string) => void;

/** Writes the error to the console, as one line without a stack trace. */
export const logHookError: HookErrorReporter = (error, hook) => {
  // biome-ignore lint/suspicious/noConsole: the only place that every runtime has; an embedder passes its own.
  console.error(`store-orders: ${hook} failed: ${errorMessage(error)}`);
};

/** Calls a hook of the embedder and waits for it. An error is reported and goes no further. */
export async function callHook(name: string, hook: () => unknown, report: HookErrorReporter): Promise<void> {
  try {
    await hook();
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

/** Reports an error of a hook. */
export function reportSafely(error: unknown, name: string, report: HookErrorReporter): void {
  // A failing error hook has nowhere to report to.
  try {
    Promise.resolve(report(error, name) as unknown).catch(() => {});
  } catch {}
}
