import type { Recording, Registration } from "./engine.ts";
import type { Value } from "./wire.ts";

/** Formats the registrations of a run for review, without the code, whose hash changes with every commit. */
export function planText({ registrations }: Pick<Recording, "registrations">): string {
  const sorted = [...registrations].sort((one, other) => (one.urn < other.urn ? -1 : 1));
  return sorted.map(resourceText).join("\n");
}

/** Formats a value as indented lines, with sorted keys. JSON in a string is expanded. */
function linesOf(value: Value, indent: string): readonly string[] {
  if (typeof value === "string" && value.startsWith('{"'))
    return ["(JSON)", ...linesOf(JSON.parse(value), indent).slice(1)];
  if (typeof value !== "object" || value === null) return [JSON.stringify(value)];
  if (Array.isArray(value) && value.every((each) => typeof each !== "object")) return [JSON.stringify(value)];
  const entries = Array.isArray(value)
    ? value.map((inner) => ["-", inner] as const)
    : Object.entries(value)
        .sort(([one], [other]) => (one < other ? -1 : 1))
        .map(([key, inner]) => [`${key}:`, inner] as const);
  if (entries.length === 0) return ["{}"];
  return ["", ...entries.flatMap(([head, inner]) => nested(`${indent}${head}`, inner, `${indent}  `))];
}

function nested(head: string, value: Value, indent: string): readonly string[] {
  const [first = "", ...rest] = linesOf(value, indent);
  return [first === "" ? head : `${head} ${first}`, ...rest];
}

function resourceText({ type, name, inputs, ...options }: Registration): string {
  const shown = Object.entries(inputs).filter(([key]) => key !== "code");
  const settings = Object.entries({
    protect: options.protect,
    beforeDelete: options.beforeDelete.length === 0 ? "" : options.beforeDelete,
    retainOnDelete: options.retainOnDelete,
    ignoreChanges: options.ignoreChanges.length === 0 ? "" : options.ignoreChanges,
    import: options.importId,
    replacementTrigger: options.replacementTrigger,
    createTimeout: options.createTimeout,
  }).filter(([, value]) => value !== false && value !== "" && value !== null);
  const all = {
    ...Object.fromEntries(shown),
    ...(settings.length === 0 ? {} : { options: Object.fromEntries(settings) }),
  };
  const lines = shown.length + settings.length === 0 ? [] : linesOf(all, "  ").slice(1);
  return [`${name}  ${type}`, ...lines, ""].join("\n");
}
