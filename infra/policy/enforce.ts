import * as pulumi from "@pulumi/pulumi";
import { type PolicyContext, UNKNOWN, violations } from "./policies.ts";

/**
 * Holds the rules for every resource of the program, those included that others add to the stack. Each is looked at
 * with what is known of it when it is made, in preview too; what becomes known later is looked at before the
 * resource is.
 */
export function enforcePolicies({ protect }: PolicyContext): void {
  pulumi.runtime.registerStackTransformation(({ type, name, props, opts }) => {
    const check = (inputs: Inputs) => {
      const found = violations({ type, name, inputs, protect: opts.protect === true }, { protect });
      const lines = found.map((text) => `  ${name} (${type}): ${text}`);
      if (found.length > 0) throw new pulumi.RunError([AGAINST, ...lines].join("\n"));
    };
    const known = knownIn(props) as Inputs;
    check(known);
    const late = Object.entries(props).filter(([key]) => hasUnknown(known[key]));
    const deferred = late.map(([key, value]) => {
      const checked = pulumi.output(value).apply((arrived) => {
        check({ ...known, [key]: arrived });
        return arrived;
      });
      return [key, checked] as const;
    });
    return { props: { ...props, ...Object.fromEntries(deferred) }, opts };
  });
}

type Inputs = Readonly<Record<string, unknown>>;

const AGAINST = "A resource is against the rules of this stack:";

/** A copy in which a mark stands for whatever is still to come. */
function knownIn(value: unknown): unknown {
  if (pulumi.Output.isInstance(value) || value instanceof Promise) return UNKNOWN;
  if (Array.isArray(value)) return value.map(knownIn);
  if (typeof value !== "object" || value === null || Object.getPrototypeOf(value) !== Object.prototype)
    return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, knownIn(inner)]));
}

/** True where something is still to come in a value. */
function hasUnknown(known: unknown): boolean {
  if (known === UNKNOWN) return true;
  return typeof known === "object" && known !== null && Object.values(known).some(hasUnknown);
}
