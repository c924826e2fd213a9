import type { Command } from "commander";
import type { EnvironmentVariables } from "./settings.ts";

/** npm has options with these names, which can be set for other reasons. */
const OF_NPM: readonly string[] = ["--json", "--key", "--version"];

/**
 * Says how to write the options of these commands that npm has taken for itself, if there are any: `npm start --port=1`
 * sets the variable `npm_config_port`, and does not pass the option on.
 */
export function explainNpmOptions(
  commands: readonly Command[],
  env: EnvironmentVariables,
): string | undefined {
  if (env["npm_lifecycle_event"] === undefined) return undefined;
  const names = new Set(commands.flatMap(({ options }) => options.map(({ long }) => long ?? "")));
  const taken = [...names].filter(
    (name) => !OF_NPM.includes(name) && env[`npm_config_${name.slice(2).replaceAll("-", "_")}`] !== undefined,
  );
  if (taken.length === 0) return undefined;
  return `npm took ${taken.join(" and ")} for itself. Write -- before the options, as in 'npm start -- ${taken[0]} …'.`;
}
