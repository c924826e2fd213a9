import type { Recording, Registration } from "./engine.ts";
import type { Value } from "./wire.ts";

type Plan = Pick<Recording, "registrations" | "stackOutputs">;

/** Formats the outputs and the registrations of a run for review, with the names of the functions' files instead of their code. */
export function planText(plan: Plan): string {
  return [...linesByPart(plan)].map(([head, lines]) => `${[head, ...lines].join("\n")}\n`).join("\n");
}

/** Formats what a plan has in another way than an earlier one: with `+`, and what only the earlier one has, with `-`. */
export function planDifference(plan: Plan, earlier: Plan): string {
  const [parts, before] = [linesByPart(plan), linesByPart(earlier)];
  const heads = [...new Set([...parts.keys(), ...before.keys()])].sort();
  const differences = heads.flatMap((head) => {
    const [now, then] = [parts.get(head), before.get(head)];
    if (now === undefined) return `- ${head}`;
    const added = without(now, then ?? []).map((line) => `+ ${line}`);
    if (then === undefined) return [`+ ${head}`, ...added];
    const removed = without(then, now).map((line) => `- ${line}`);
    return removed.length + added.length === 0 ? [] : [`  ${head}`, ...removed, ...added];
  });
  return `${differences.join("\n")}\n`;
}

/** The lines without those that another text has, as often as it has them. */
function without(lines: readonly string[], others: readonly string[]): readonly string[] {
  const left = [...others];
  return lines.filter((line) => {
    const at = left.indexOf(line);
    if (at !== -1) left.splice(at, 1);
    return at === -1;
  });
}

/** By name and type of each resource, its inputs and options; and the outputs. */
function linesByPart({ registrations, stackOutputs }: Plan): ReadonlyMap<string, readonly string[]> {
  const sorted = [...registrations].sort((one, other) => (one.urn < other.urn ? -1 : 1));
  return new Map([
    ["outputs", linesOf(stackOutputs, "  ")],
    ...sorted.map((each) => [`${each.name}  ${each.type}`, linesOfResource(each)] as const),
  ]);
}

function linesOfResource({ inputs, ...registration }: Registration): readonly string[] {
  const { code, ...shown } = inputs;
  const { protect, beforeDelete, retainOnDelete, deleteBeforeReplace, ignoreChanges } = registration;
  const all = {
    ...{ protect, beforeDelete, retainOnDelete, deleteBeforeReplace, ignoreChanges },
    import: registration.importId,
    replacementTrigger: registration.replacementTrigger,
    createTimeout: registration.createTimeout,
    after: registration.dependsOn.map((urn) => urn.split("::").at(-1) ?? ""),
  };
  const options = Object.entries(all).filter(
    ([, value]) => value !== false && value !== null && String(value) !== "",
  );
  const files = (code as { archive: { assets: object } } | undefined)?.archive.assets;
  const parts = {
    ...(files !== undefined && { code: Object.keys(files) }),
    ...shown,
    ...(options.length > 0 && { options: Object.fromEntries(options) }),
  };
  return linesOf(parts, "  ");
}

const MAX_LINE_CHARS = 150;

/** Formats the entries of a value, with sorted keys, each on a line of its own if it fits. */
function linesOf(value: Value, indent: string): readonly string[] {
  const entries = Object.entries(value ?? {});
  const sorted = Array.isArray(value) ? entries : entries.sort(([one], [other]) => (one < other ? -1 : 1));
  return sorted.flatMap(([key, inner]) => {
    const content = expanded(inner);
    const head = `${indent}${Array.isArray(value) ? "-" : `${key}:`}`;
    const line = `${head} ${JSON.stringify(content)}`;
    const isLong = line.length > MAX_LINE_CHARS && typeof content === "object";
    return isLong ? [head, ...linesOf(content, `${indent}  `)] : [line];
  });
}

/** The content of a string of JSON. */
function expanded(value: Value): Value {
  return typeof value === "string" && value.startsWith('{"') ? JSON.parse(value) : value;
}
