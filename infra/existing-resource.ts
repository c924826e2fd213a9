import * as pulumi from "@pulumi/pulumi";
import { explainOnError } from "./error-hook.ts";

/**
 * Hooks that explain what to do if a resource cannot be created because its name is taken. `what` names it, `advice`
 * says what to do. Any other error says enough by itself.
 */
export function explainExisting(
  name: string,
  { what, advice }: { readonly what: string; readonly advice: string },
  resource: pulumi.Resource,
): pulumi.ErrorHook[] {
  return explainOnError(`${name}-exists`, async ({ errors }) => {
    if (errors.some((error) => /already exists/i.test(error))) {
      const message = `${what} exists, but not in the state of this stack. An interrupted update or a lost state leaves it behind. ${advice} See infra/README.md#an-interrupted-run.`;
      // The engine stops the program after this hook, so the log call must complete first.
      await pulumi.log.error(message, resource);
    }
    return false;
  });
}
