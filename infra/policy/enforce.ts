import * as pulumi from "@pulumi/pulumi";
import { type Inputs, isPlainObject, UNKNOWN } from "./inputs.ts";
import { type PolicyContext, violations } from "./policies.ts";

/**
 * Checks every resource that the program registers from now on against the policies, in preview too. Inputs that are
 * not known yet are checked once they are, before the resource is registered.
 *
 * Under `pulumi.runtime.setMocks` nothing is checked unless the test uses `pulumi.runtime.runInPulumiStack`, because
 * the mocks create no stack.
 */
export function enforcePolicies({ protect }: PolicyContext): void {
  if (pulumi.runtime.getStackResource() === undefined) return;
  pulumi.runtime.registerStackTransformation(({ type, name, props, opts }) => {
    const check = (inputs: Inputs) => {
      const found = violations({ type, name, inputs, protect: opts.protect === true }, { protect });
      const lines = found.map((text) => `  ${name} (${type}): ${text}`);
      if (found.length > 0) throw new pulumi.RunError(["Policy violation:", ...lines].join("\n"));
    };
    const known = withUnknowns(props) as Record<string, unknown>;
    check(known);
    const deferred = Object.entries(props)
      .filter(([key]) => hasUnknown(known[key]))
      .map(([key, value]) => {
        const checked = pulumi.output(value).apply((resolved) => {
          // Kept, so that the last check sees all inputs together.
          known[key] = resolved;
          check(known);
          return resolved;
        });
        return [key, checked] as const;
      });
    return { props: { ...props, ...Object.fromEntries(deferred) }, opts };
  });
}

/** A copy with `UNKNOWN` in place of every output and promise. */
function withUnknowns(value: unknown): unknown {
  if (pulumi.Output.isInstance(value) || value instanceof Promise) return UNKNOWN;
  if (Array.isArray(value)) return value.map(withUnknowns);
  if (!isPlainObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withUnknowns(inner)]));
}

function hasUnknown(value: unknown): boolean {
  if (value === UNKNOWN) return true;
  return (Array.isArray(value) || isPlainObject(value)) && Object.values(value).some(hasUnknown);
}
