import type { GlobalFlags } from "./context.ts";

/** How this program is started: from a clone of the repository, or from the installed package. */
const PROGRAM = import.meta.url.endsWith(".ts") ? "npm run --silent cli --" : "store-orders";

/** Formats a command that can be run as it is printed, on the same store as the command with these flags. */
export function toCommandLine(args: readonly string[], { database, dynamodb }: GlobalFlags = {}): string {
  const store = [
    ...(database === undefined ? [] : ["--database", database]),
    ...(dynamodb === undefined ? [] : ["--dynamodb", dynamodb]),
  ];
  return [PROGRAM, ...[...args, ...store].map(quote)].join(" ");
}

function quote(argument: string): string {
  return /^[\w@%+=:,./-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", "'\\''")}'`;
}
