import type { Invoke } from "./engine.ts";
import type { Registration } from "./registration.ts";
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
}

/** A resource in the cloud: its identifier, and the state that the cloud adds to its inputs. */
export interface CloudResource {
  readonly id: string;
  readonly outputs: Readonly<Record<string, Value>>;
}

/** A resource in the state of a stack. */
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
  complete(): void;
}

/** Starts a run that decides like Pulumi's engine, except that providers never ask for a replacement. */
export function startDeployment(cloud: Cloud, previous: State, preview: boolean): Deployment {
  const operations = new Map<string, Operation>();
  const state = new Map(previous);
  const used = new Set<StateEntry>();
  const replaced: StateEntry[] = [];

  return {
    operations,
    state,
    register(requested) {
      const old = previous.get(requested.urn);
      if (old !== undefined) used.add(old);
      const kept = withoutIgnoredChanges(requested, old);
      const operation = operationFor(kept, old);
      // A replacement is created with the inputs that the program has now.
      const registration = operation === "replace" ? requested : kept;
      operations.set(registration.urn, operation);
      const keepsOld = operation === "same" || operation === "update";
      const { tags } = registration.inputs;
      const withTags = (resource: CloudResource) =>
        tags === undefined ? resource : { ...resource, outputs: { ...resource.outputs, tags } };
      if (preview) return keepsOld && old !== undefined ? withTags(old) : undefined;
      if (old !== undefined && !keepsOld) replaced.push(old);
      const resource = apply(cloud, operation, registration, old);
      state.set(registration.urn, { ...resource, registration });
      return withTags(resource);
    },
    complete() {
      const unused = [...previous.values()].filter((entry) => !used.has(entry));
      for (const { registration } of inDeletionOrder(unused)) operations.set(registration.urn, "delete");
      if (preview) return;
      for (const { urn } of unused.map(({ registration }) => registration)) state.delete(urn);
      for (const { id, registration } of inDeletionOrder([...replaced, ...unused]))
        if (!registration.retainOnDelete) cloud.delete(id, registration);
    },
  };
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
  return JSON.stringify(inputs) === JSON.stringify(old.registration.inputs) ? "same" : "update";
}

/** Sorts resources for deletion: each after everything that depends on it. */
function inDeletionOrder(entries: readonly StateEntry[]): readonly StateEntry[] {
  if (entries.length === 0) return [];
  const dependencies = new Set(entries.flatMap(({ registration }) => registration.dependencies));
  const free = entries.filter(({ registration }) => !dependencies.has(registration.urn));
  return [...free, ...inDeletionOrder(entries.filter((entry) => !free.includes(entry)))];
}
