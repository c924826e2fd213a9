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
  /** The URNs of the resources that it depends on. */
  readonly dependencies: readonly string[];
  readonly protect: boolean;
  readonly retainOnDelete: boolean;
  readonly deleteBeforeReplace: boolean;
  readonly deletedWith: string;
  readonly importId: string;
  readonly replacementTrigger: Value;
  /** The paths of inputs whose changes are ignored, such as `tags["name"]`. */
  readonly ignoreChanges: readonly string[];
  readonly createTimeout: string;
  readonly provider: string;
}

/** The run that an engine belongs to. */
export interface RunKind {
  readonly project: string;
  readonly stack: string;
  readonly preview: boolean;
}

/** Decodes a registration request. */
export function toRegistration(
  request: InstanceType<typeof resource.RegisterResourceRequest>,
  inputs: unknown,
  { project, stack }: RunKind,
): Registration {
  const [type, name, parent] = [request.getType(), request.getName(), request.getParent()];
  const isStack = parent === "" || parent.includes("::pulumi:pulumi:Stack::");
  const parentType = isStack ? "" : `${parent.split("::")[2]}$`;
  return {
    urn: `urn:pulumi:${stack}::${project}::${parentType}${type}::${name}`,
    type,
    name,
    parent,
    custom: request.getCustom(),
    inputs: decode(inputs) as Registration["inputs"],
    dependencies: request.getDependenciesList(),
    protect: request.getProtect() === true,
    retainOnDelete: request.getRetainondelete() === true,
    deleteBeforeReplace: request.getDeletebeforereplace(),
    deletedWith: request.getDeletedwith(),
    importId: request.getImportid(),
    replacementTrigger: decode(request.getReplacementTrigger()?.toJavaScript() ?? null),
    ignoreChanges: request.getIgnorechangesList(),
    createTimeout: request.getCustomtimeouts()?.getCreate() ?? "",
    provider: request.getProvider(),
  };
}
