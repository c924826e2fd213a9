import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
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
    // It runs for seconds, so it collects no garbage.
    const env = { ...process.env, GOGC: "off" };
    const args = ["-p", folder, "--types", "", "--singleThreaded"];
    execFileSync("node_modules/.bin/tsc", args, { encoding: "utf8", env });
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

export function hasInput(type: string, property: string): boolean {
  const { path, resource } = partsOf(type);
  const declarations = readFileSync(join(process.cwd(), "node_modules", `${path}.d.ts`), "utf8");
  const [, body = ""] = new RegExp(`interface ${resource}Args \\{(.*?)\n\\}`, "s").exec(declarations) ?? [];
  return new RegExp(`^ {4}${property}\\?:`, "m").test(body);
}

/** `aws:lambda/function:Function` is `Function` of `@pulumi/aws/lambda/function`. */
function partsOf(type: string) {
  const [vendor = "", place = "", resource = ""] = type.split(":");
  const [module = "", file = ""] = place.split("/");
  const path = `@pulumi/${vendor}/${module === "index" ? "" : `${module}/`}${file}`;
  return { path, resource };
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
