import * as pulumi from "@pulumi/pulumi";
import { NOT_YET, type RuleContext, violations } from "./rules.ts";

/**
 * Holds the rules for every resource of the program, those included that others add to the stack. Each is looked at
 * with what is known of it when it is made, in preview too, and again when all of it is known.
 */
export function holdRules(context: RuleContext): void {
  pulumi.runtime.registerStackTransformation(({ type, name, props, opts }) => {
    const protect = opts.protect === true;
    const check = (inputs: Readonly<Record<string, unknown>>) => {
      const found = violations({ type, name, inputs, protect }, context);
      if (found.length === 0) return;
      const lines = found.map((text) => `  ${name} (${type}): ${text}`);
      throw new pulumi.RunError(["A resource is against the rules of this stack:", ...lines].join("\n"));
    };
    check(knownIn(props) as Readonly<Record<string, unknown>>);
    void pulumi.output(props).apply(check);
    return undefined;
  });
}

/** A copy in which a mark stands for whatever is still to come. */
function knownIn(value: unknown): unknown {
  if (pulumi.Output.isInstance(value) || value instanceof Promise) return NOT_YET;
  if (Array.isArray(value)) return value.map(knownIn);
  if (typeof value !== "object" || value === null || Object.getPrototypeOf(value) !== Object.prototype)
    return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, knownIn(inner)]));
}
