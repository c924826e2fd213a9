/** How the process was started; `process` has both. */
export interface StartOptions {
  /** The flags of Node. */
  readonly execArgv: readonly string[];
  /** The environment; `NODE_OPTIONS` is read. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/**
 * True if a flag of V8 may be changed while the process runs: V8 is that of Node 24, with which it was tested, and Node
 * was not started with a flag whose name contains `name`. Bun and Deno name a V8 as well.
 */
export function canChangeFlag(name: string, { execArgv, env }: StartOptions): boolean {
  const { v8, bun, deno } = process.versions;
  if (!v8.startsWith("13.") || bun || deno) return false;
  return !`${execArgv.join(" ")} ${env["NODE_OPTIONS"] ?? ""}`.replaceAll("_", "-").includes(name);
}
