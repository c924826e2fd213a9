import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as providerEnums from "@pulumi/aws/types/enums/index.js";
import type { Registration } from "./engine.ts";
import type { Value } from "./wire.ts";

/**
 * Type-checks the inputs of a run against the providers' types. The providers publish types but no schemas on npm, so
 * the inputs are written as literals of those types, and the compiler reports missing, unknown and mistyped ones.
 */
export function typeErrors(registrations: readonly Registration[]): string {
  const folder = mkdtempSync(join(tmpdir(), "store-orders-types-"));
  try {
    symlinkSync(join(process.cwd(), "node_modules"), join(folder, "node_modules"), "dir");
    writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
    writeFileSync(
      join(folder, "tsconfig.json"),
      JSON.stringify({ extends: join(process.cwd(), "tsconfig.json"), include: ["*.ts"] }),
    );
    writeFileSync(join(folder, "inputs.ts"), sourceOf(registrations));
    execFileSync("node_modules/.bin/tsc", ["-p", folder, "--types", ""], { encoding: "utf8" });
    return "";
  } catch (error) {
    return String((error as { stdout?: unknown }).stdout ?? error);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Imports single types, because loading a whole provider takes seconds. */
function sourceOf(registrations: readonly Registration[]): string {
  const lines = custom(registrations).map(({ type, name, inputs }, index) => {
    const { path, resource } = partsOf(type);
    return [
      `import type { ${resource}Args as Args${index} } from "${path}.js";`,
      `/** ${name} */`,
      `export const _${index}: Args${index} = ${literal(inputs)};`,
    ].join("\n");
  });
  return [
    'import { asset } from "@pulumi/pulumi";',
    "export const archive = new asset.AssetArchive({});",
    ...lines,
  ].join("\n");
}

function custom(registrations: readonly Registration[]): readonly Registration[] {
  return registrations.filter((each) => each.custom && !each.type.startsWith("pulumi:"));
}

/** `aws:lambda/function:Function` is `Function` of `@pulumi/aws/lambda/function`. */
function partsOf(type: string) {
  const [vendor = "", place = "", resource = ""] = type.split(":");
  const [module = "", file = ""] = place.split("/");
  const path = `@pulumi/${vendor}/${module === "index" ? "" : `${module}/`}${file}`;
  return { vendor, path, resource };
}

function literal(value: Value): string {
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if ("archive" in value) return "archive";
  if ("secret" in value) return literal((value as { secret: Value }).secret);
  return `{${Object.entries(value)
    .map(([key, inner]) => `${JSON.stringify(key)}: ${literal(inner)}`)
    .join(", ")}}`;
}

/** An input with the values that its type or documentation lists. */
export interface UnknownValue {
  readonly resource: string;
  readonly input: string;
  readonly value: Value;
  readonly known: readonly string[];
}

/**
 * Returns the inputs of a run with an undocumented value. Most enumerations are plain strings in the providers' types,
 * with their values in the documentation ("Valid values: …"); a few have an enum type.
 */
export function unknownValues(registrations: readonly Registration[]): readonly UnknownValue[] {
  return inputsWithValues(registrations)
    .filter(({ known, value }) => !known.includes(String(value)))
    .map(({ resource, input, value, known }) => ({ resource, input, value, known }));
}

/** Returns every input of a run whose type or documentation lists its values. */
export function inputsWithValues(registrations: readonly Registration[]): readonly UnknownValue[] {
  return custom(registrations).flatMap(({ type, name, inputs }) => {
    const { vendor, path, resource } = partsOf(type);
    return inputsIn(name, inputs, membersOf(textOf(`node_modules/${path}.d.ts`), `${resource}Args`), vendor);
  });
}

function inputsIn(
  resource: string,
  inputs: Value,
  members: Members,
  vendor: string,
): readonly UnknownValue[] {
  if (typeof inputs !== "object" || inputs === null) return [];
  if (Array.isArray(inputs)) return inputs.flatMap((each) => inputsIn(resource, each, members, vendor));
  return Object.entries(inputs).flatMap(([input, value]) => {
    const member = members.get(input);
    if (member === undefined) return [];
    const nested = /inputs\.([\w.]+)/.exec(member.type)?.[1];
    if (nested !== undefined && typeof value === "object") {
      return inputsIn(
        resource,
        value,
        membersOf(textOf(`node_modules/@pulumi/${vendor}/types/input.d.ts`), nested),
        vendor,
      );
    }
    const known = member.known;
    const values = Array.isArray(value) ? value : [value];
    if (known.length === 0 || typeof values[0] !== "string") return [];
    return values.map((each) => ({ resource, input, value: each, known }));
  });
}

type Members = ReadonlyMap<string, { readonly type: string; readonly known: readonly string[] }>;

const texts = new Map<string, string>();
const interfaces = new Map<string, Members>();

function textOf(path: string): string {
  const text = texts.get(path) ?? readFileSync(path, "utf8");
  texts.set(path, text);
  return text;
}

/** The members of an interface in a declaration file, by its name with namespaces: `lambda.FunctionEnvironment`. */
function membersOf(text: string, name: string): Members {
  const key = `${text.length} ${name}`;
  const known = interfaces.get(key);
  if (known !== undefined) return known;
  const [last = "", ...namespaces] = name.split(".").reverse();
  const start = namespaces.reduceRight(
    (from, each) => text.indexOf(`export declare namespace ${each} {`, from),
    0,
  );
  const body = new RegExp(`^( *)export interface ${last} \\{\\n([\\s\\S]*?)^\\1\\}`, "m").exec(
    text.slice(start),
  );
  const members = new Map(
    [...(body?.[2] ?? "").matchAll(/(?:\/\*\*([\s\S]*?)\*\/\s*)?^\s*(\w+)\??: ([\s\S]*?);$/gm)].map(
      ([, doc = "", member = "", type = ""]) => [
        member,
        { type, known: [...valuesInType(type), ...valuesInDoc(doc)] },
      ],
    ),
  );
  interfaces.set(key, members);
  return members;
}

function valuesInType(type: string): readonly string[] {
  const [, module = "", name = ""] = /enums\.(\w+)\.(\w+)/.exec(type) ?? [];
  const enums = providerEnums as unknown as Readonly<
    Record<string, Readonly<Record<string, Readonly<Record<string, string>>>>>
  >;
  return Object.values(enums[module]?.[name] ?? {});
}

/** The quoted words of the sentence that lists the values, and of one that adds more ("… are also valid"). */
function valuesInDoc(doc: string): readonly string[] {
  const lists = [
    /(?:[Vv]alid|[Aa]llowed|[Pp]ossible|[Aa]vailable) (?:[\w ]*)?values?(?: are| include|:| is)+([^\n]*?)(?:\. |\.?\n|$)/,
    /(?<=[Vv]alid values.*\. )([^.]*) are also valid/,
  ].map((sentence) => sentence.exec(doc)?.[1] ?? "");
  return lists.flatMap((list) => [...list.matchAll(/[`"]([\w./-]+)[`"]/g)].map(([, value = ""]) => value));
}
