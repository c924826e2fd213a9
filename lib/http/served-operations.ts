import { invalidInput } from "../errors.ts";
import { isLink, LINK_RULE, withDocsUrl } from "./deprecation.ts";
import type { HandlerOptions } from "./handler-options.ts";
import { withOrderedParameters } from "./operation-call.ts";
import { OPERATIONS, type Operation } from "./operations.ts";
import { validateOperations } from "./validate-operations.ts";

/** The operations that a handler serves, from its options. Throws `InvalidInputError` if one is invalid. */
export function servedOperations({
  operations = OPERATIONS,
  docsUrl,
}: Pick<HandlerOptions, "operations" | "docsUrl">): readonly Operation[] {
  validateOperations(operations);
  if (docsUrl !== undefined && !isLink(docsUrl)) throw invalidInput("docsUrl", LINK_RULE);
  return withDocsUrl<Operation>(operations, docsUrl).map(withOrderedParameters);
}
