import type { Invoke } from "./engine.ts";
import type { Hooks } from "./hooks.ts";
import { physicalName, replaces } from "./provider-rules.ts";
import { type Registration, type RunKind, urnOf } from "./registration.ts";
import type { Value } from "./wire.ts";

/** The providers that a program runs against. Each method throws the provider's error. */
export interface Cloud {
  create(registration: Registration): CloudResource;
  /** Reads the resource with the import identifier of the registration. */
  import(registration: Registration): CloudResource;
  update(id: string, registration: Registration): void;
  delete(id: string, registration: Registration): void;
  /** Returns the result of a provider function. */
  invoke(call: Invoke): Readonly<Record<string, Value>>;
  /** The errors of the next reads of the state by the program. @default none */
  readonly readErrors?: string[];
}

/** A resource in the cloud: its identifier, and the state that the cloud adds to its inputs. */
export interface CloudResource {
  readonly id: string;
  readonly outputs: Readonly<Record<string, Value>>;
}

export interface StateEntry extends CloudResource {
  readonly registration: Registration;
}

/** The state of a stack, by URN. */
export type State = ReadonlyMap<string, StateEntry>;

/** What the engine does with a resource. */
export type Operation = "create" | "same" | "update" | "replace" | "import" | "import-replacement" | "delete";

/** One run against the cloud and the state of the runs before it. */
export interface Deployment {
  /** By URN: what was done, or in a preview would be done. */
  readonly operations: ReadonlyMap<string, Operation>;
  readonly state: State;
  /** Applies a registration. Returns what is known of the resource, or throws the provider's error. */
  register(registration: Registration): CloudResource | undefined;
  /** Completes a successful run: deletes replaced resources and those that were not registered any more. */
  complete(): Promise<void>;
}

export interface DeploymentOptions {
  readonly cloud: Cloud;
  readonly previous: State;
  readonly kind: RunKind;
  readonly hooks: Hooks;
  /** Fails the run, without stopping a preview. */
  report(message: string): void;
}

/** Starts a run that decides like Pulumi's engine. */
export function startDeployment({ cloud, previous, kind, hooks, report }: DeploymentOptions): Deployment {
  const { preview } = kind;
  const operations = new Map<string, Operation>();
  const state = new Map(previous);
  const used = new Set<StateEntry>();
  const replaced: StateEntry[] = [];
  /** By URN: the alias under which a resource was found in the state. */
  const formerUrns = new Map<string, string>();

  function findOld(registration: Registration): StateEntry | undefined {
    const { urn } = registration;
    const known = [urn, ...aliasUrns(registration, kind, formerUrns)].find((each) => previous.has(each));
    if (known === undefined) return undefined;
    if (known !== urn) {
      formerUrns.set(urn, known);
      state.delete(known);
    }
    return previous.get(known);
  }

  return {
    operations,
    state,
    register(requested) {
      const old = findOld(requested);
      if (old !== undefined) used.add(old);
      if (!requested.custom) {
        state.set(requested.urn, { id: "", outputs: {}, registration: requested });
        return undefined;
      }
      const kept = withoutIgnoredChanges(requested, old);
      const operation = operationFor(kept, old);
      // A replacement is created with the inputs that the program has now.
      const registration = operation === "replace" ? requested : kept;
      operations.set(registration.urn, operation);
      if (operation === "create" || operation === "replace") physicalName(registration);
      if (operation === "replace" && registration.protect && old?.registration.protect === true) {
        const problem = unreplaceable(registration.urn);
        if (!preview) throw new Error(problem);
        report(problem);
      }
      const keepsOld = operation === "same" || operation === "update";
      const { tags } = registration.inputs;
      const withTags = (resource: CloudResource) =>
        tags === undefined ? resource : { ...resource, outputs: { ...resource.outputs, tags } };
      if (old !== undefined && !keepsOld) replaced.push(old);
      if (preview) return keepsOld && old !== undefined ? withTags(old) : undefined;
      const resource = apply(cloud, operation, registration, old);
      state.set(registration.urn, { ...resource, registration });
      return withTags(resource);
    },
    async complete() {
      const unused = [...previous.values()].filter((entry) => !used.has(entry));
      for (const { registration } of inDeletionOrder(unused))
        if (registration.custom) operations.set(registration.urn, "delete");
      for (const entry of inDeletionOrder([...replaced, ...unused])) {
        const { urn, retainOnDelete, custom } = entry.registration;
        const refusal = await findRefusal(entry);
        // Like the engine, which starts no further step after a failed one.
        if (refusal !== undefined) return report(refusal);
        if (preview) continue;
        if (unused.includes(entry)) state.delete(urn);
        if (custom && !retainOnDelete) cloud.delete(entry.id, entry.registration);
      }
    },
  };

  /** Why a resource is not deleted, if so: a hook that the state names, then its protection. */
  async function findRefusal(entry: StateEntry): Promise<string | undefined> {
    const { urn, beforeDelete, protect } = entry.registration;
    for (const name of beforeDelete) {
      const refusal = await hooks.beforeDelete(name, entry);
      if (refusal !== undefined) return refusal;
    }
    return protect && !replaced.includes(entry) ? undeletable(urn) : undefined;
  }
}

const unreplaceable = (urn: string) =>
  `unable to replace resource "${urn}"\nas it is currently marked for protection. To unprotect the resource, remove the \`protect\` flag from the resource in your Pulumi program and run \`pulumi up\``;

const undeletable = (urn: string) =>
  `resource "${urn}" cannot be deleted\nbecause it is protected. To unprotect the resource, either remove the \`protect\` flag from the resource in your Pulumi program and run \`pulumi up\`, or use the command:\n\`pulumi state unprotect '${urn}'\``;

/** The URNs that a resource may have had: its own aliases, and those that its parent's alias implies. */
function aliasUrns(
  { name, type, parent, aliases }: Registration,
  kind: RunKind,
  formerUrns: ReadonlyMap<string, string>,
): readonly string[] {
  const own = aliases.map((alias) => {
    if ("urn" in alias) return alias.urn;
    const above = alias.parent === "" ? parent : (formerUrns.get(alias.parent) ?? alias.parent);
    return urnOf(kind, alias.isRoot ? "" : above, alias.type || type, alias.name || name);
  });
  const formerParent = formerUrns.get(parent);
  if (formerParent === undefined) return own;
  const nameOf = (urn: string) => urn.split("::").at(-1) ?? "";
  const typeOf = (urn: string) => urn.split("::")[2]?.split("$").at(-1) ?? "";
  // The name of a child usually begins with that of its parent.
  const inherited = [[type, name], ...own.map((urn) => [typeOf(urn), nameOf(urn)])].map(
    ([type = "", name = ""]) => {
      const parentName = nameOf(parent);
      const former = name.startsWith(parentName)
        ? nameOf(formerParent) + name.slice(parentName.length)
        : name;
      return urnOf(kind, formerParent, type, former);
    },
  );
  return [...own, ...inherited];
}

function apply(
  cloud: Cloud,
  operation: Operation,
  registration: Registration,
  old: StateEntry | undefined,
): CloudResource {
  if (operation === "import" || operation === "import-replacement") {
    const imported = cloud.import(registration);
    cloud.update(imported.id, registration);
    return imported;
  }
  if (old === undefined || operation === "replace") return cloud.create(registration);
  if (operation === "update") cloud.update(old.id, registration);
  return old;
}

/** The inputs with the old value of each input, and of each tag, whose changes are ignored. */
function withoutIgnoredChanges(registration: Registration, old: StateEntry | undefined): Registration {
  if (old === undefined) return registration;
  const inputs: Record<string, Value> = { ...registration.inputs };
  const before = old.registration.inputs;
  for (const path of registration.ignoreChanges) {
    const [, tag] = /^tags\["([^"]+)"\]$/.exec(path) ?? [];
    if (tag !== undefined) inputs["tags"] = withOld(tag, inputs["tags"], before["tags"]);
    else if (/^\w+$/.test(path)) {
      if (before[path] === undefined) delete inputs[path];
      else inputs[path] = before[path];
    } else throw new Error(`The test engine cannot ignore changes of ${path}.`);
  }
  return { ...registration, inputs };
}

/** Tags with the old value of one, in the same order, because inputs are compared as text. */
function withOld(key: string, now: Value | undefined, before: Value | undefined): Value {
  const tags = { ...((now ?? {}) as Readonly<Record<string, Value>>) };
  const old = ((before ?? {}) as Readonly<Record<string, Value>>)[key];
  if (old === undefined) delete tags[key];
  else tags[key] = old;
  return tags;
}

function operationFor(registration: Registration, old: StateEntry | undefined): Operation {
  const { importId, replacementTrigger, inputs } = registration;
  // An imported resource keeps the identifier that it was imported with, whose format can differ from its own.
  const oldId = old === undefined ? undefined : old.registration.importId || old.id;
  if (importId !== "" && importId !== oldId) return old === undefined ? "import" : "import-replacement";
  if (old === undefined) return "create";
  // A trigger that is missing before or after means "no trigger".
  const triggers = [old.registration.replacementTrigger, replacementTrigger];
  const [before, after] = triggers.map((trigger) => JSON.stringify(trigger));
  if (!triggers.includes(null) && before !== after) return "replace";
  if (replaces(registration.type, old.registration.inputs, inputs)) return "replace";
  return JSON.stringify(inputs) === JSON.stringify(old.registration.inputs) ? "same" : "update";
}

/** Sorts resources for deletion: each after everything that depends on it. */
function inDeletionOrder(entries: readonly StateEntry[]): readonly StateEntry[] {
  if (entries.length === 0) return [];
  const dependencies = new Set(entries.flatMap(({ registration }) => registration.dependencies));
  const free = entries.filter(({ registration }) => !dependencies.has(registration.urn));
  return [...free, ...inDeletionOrder(entries.filter((entry) => !free.includes(entry)))];
}
