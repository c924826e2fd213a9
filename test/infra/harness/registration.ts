import type alias from "@pulumi/pulumi/proto/alias_pb.js";
import type resource from "@pulumi/pulumi/proto/resource_pb.js";
import { decode, type Value } from "./wire.ts";

/** A resource as the program registered it. */
export interface Registration {
  readonly urn: string;
  readonly type: string;
  readonly name: string;
  readonly parent: string;
  readonly custom: boolean;
  readonly inputs: Readonly<Record<string, Value>>;
  readonly dependencies: readonly string[];
  /** Those of them that follow from no input: the program has named them. */
  readonly dependsOn: readonly string[];
  readonly protect: boolean;
  readonly retainOnDelete: boolean;
  readonly deleteBeforeReplace: boolean;
  readonly deletedWith: string;
  readonly importId: string;
  readonly replacementTrigger: Value;
  /** The paths of inputs whose changes are ignored, such as `tags["name"]`. */
  readonly ignoreChanges: readonly string[];
  readonly createTimeout: string;
  readonly aliases: readonly Alias[];
  /** The names of the hooks that are called before a deletion. */
  readonly beforeDelete: readonly string[];
}

/** A former identity of a resource: a URN, or what differs from its own. */
export type Alias =
  | { readonly urn: string }
  | { readonly name: string; readonly type: string; readonly parent: string; readonly isRoot: boolean };

export interface RunKind {
  readonly project: string;
  readonly stack: string;
  readonly preview: boolean;
}

/** The URN of a resource below a parent, whose types are part of it. */
export function urnOf(
  { project, stack }: Pick<RunKind, "project" | "stack">,
  parent: string,
  type: string,
  name: string,
): string {
  const isRoot = parent === "" || parent.includes("::pulumi:pulumi:Stack::");
  const parentType = isRoot ? "" : `${parent.split("::")[2]}$`;
  return `urn:pulumi:${stack}::${project}::${parentType}${type}::${name}`;
}

export function toRegistration(
  request: InstanceType<typeof resource.RegisterResourceRequest>,
  inputs: unknown,
  { project, stack }: RunKind,
): Registration {
  const [type, name, parent] = [request.getType(), request.getName(), request.getParent()];
  const dependencies = request.getDependenciesList();
  const ofInputs = [...request.getPropertydependenciesMap().entries()].flatMap(([, input]) =>
    input.getUrnsList(),
  );
  return {
    urn: urnOf({ project, stack }, parent, type, name),
    type,
    name,
    parent,
    custom: request.getCustom(),
    inputs: decode(inputs) as Registration["inputs"],
    dependencies,
    dependsOn: dependencies.filter((urn) => !ofInputs.includes(urn)),
    protect: request.getProtect() === true,
    retainOnDelete: request.getRetainondelete() === true,
    deleteBeforeReplace: request.getDeletebeforereplace(),
    deletedWith: request.getDeletedwith(),
    importId: request.getImportid(),
    replacementTrigger: decode(request.getReplacementTrigger()?.toJavaScript() ?? null),
    ignoreChanges: request.getIgnorechangesList(),
    createTimeout: request.getCustomtimeouts()?.getCreate() ?? "",
    aliases: request.getAliasesList().map(toAlias),
    beforeDelete: request.getHooks()?.getBeforeDeleteList() ?? [],
  };
}

function toAlias(request: InstanceType<typeof alias.Alias>): Alias {
  const spec = request.getSpec();
  if (spec === undefined) return { urn: request.getUrn() };
  if (spec.getStack() !== "" || spec.getProject() !== "")
    throw new Error("The test engine has no aliases with another stack or project.");
  const [name, type, parent] = [spec.getName(), spec.getType(), spec.getParenturn()];
  return { name, type, parent, isRoot: spec.getNoparent() };
}
