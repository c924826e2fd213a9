import * as pulumi from "@pulumi/pulumi";
import { goesLive, type HostPlan } from "./domains/host-plan.ts";

/** What only one component of a program can have, or of those in a scope. */
interface Claim {
  readonly subject: string;
  readonly scope?: unknown;
  /** @default another name */
  readonly fix?: string;
}

export type StateOutputs = Readonly<Record<string, { readonly outputs?: Readonly<Record<string, unknown>> }>>;

interface Run {
  readonly claims: (Claim & { readonly name: string; component: pulumi.Resource })[];
  readonly tables: Set<string>;
  stateBefore?: Promise<StateOutputs>;
}

/** By the root resource: the Automation API runs several programs in one process. */
const byRoot = new WeakMap<pulumi.Resource, Run>();
/** Those of a component provider, by the address of the engine: in its process, a run has no root resource. */
export const runsByEngine = new Map<string, Run>();

/** The present run. Outside of one, as in unit tests, each call has its own. */
export function currentRun(): Run {
  const root = pulumi.runtime.getStackResource();
  const monitor = pulumi.runtime.getMonitor() as { getChannel?(): { getTarget(): string } } | undefined;
  const engine = monitor?.getChannel?.().getTarget();
  const run = (root ? byRoot.get(root) : runsByEngine.get(engine ?? "")) ?? { claims: [], tables: new Set() };
  if (root) byRoot.set(root, run);
  else if (engine) runsByEngine.set(engine, run);
  return run;
}

/** Claims something for a component. Throws a `RunError` if another one of this program has it, other than the parent. */
export function claim(component: pulumi.Resource, name: string, wanted: Claim[], parent?: pulumi.Resource) {
  const { claims } = currentRun();
  for (const { subject, scope, fix = "Choose another name for one of them." } of wanted) {
    const other = claims.find((each) => each.subject === subject && each.scope === scope);
    const problem = `${subject} would belong to two components of this program, '${other?.name}' and '${name}'.`;
    if (other && other.component !== parent) throw new pulumi.RunError(`${problem} ${fix}`);
    // What a parent claims for a child is the child's: another child cannot have it, too.
    if (other) other.component = component;
  }
  claims.push(...wanted.map((each) => ({ ...each, name, component })));
}

/** A host claims its record everywhere, and all else with the same AWS provider. */
export function hostClaims(name: string, plan: Pick<HostPlan, "host" | "dns">, scope?: unknown): Claim[] {
  const fix =
    "Take the host out of one of them. To move it, see infra/domains/README.md#move-a-host-to-another-component.";
  const host = { subject: `The host ${plan.host}`, fix };
  const resources = { subject: `The name '${name}' of the resources of a host` };
  return [{ ...host, scope }, ...(goesLive(plan) ? [{ ...host, scope: "DNS" }] : []), resources];
}

/** The AWS provider of a component. In a component provider, each component has another object for the same one. */
export function providerOf(component: pulumi.Resource): unknown {
  const provider = component.getProvider("aws:index:Provider");
  return provider && !pulumi.runtime.getStackResource() ? pulumi.resourceName(provider) : provider;
}
