/** How the help of a command differs from Commander's. */
import { type Argument, type Command, Help, type HelpConfiguration, type Option } from "commander";

const defaultHelp = new Help();

/** For `configureHelp`. */
export const HELP_FORMAT: HelpConfiguration = {
  showGlobalOptions: true,
  argumentDescription: (argument: Argument) => formatHint(defaultHelp.argumentDescription(argument)),
  optionDescription(option: Option) {
    const description = formatHint(defaultHelp.optionDescription(option));
    return option.mandatory ? `${description} (required)` : description;
  },
  visibleGlobalOptions,
};

/** Writes choices and defaults as we do: without quotation marks, and in the same brackets as a variable. */
function formatHint(description: string): string {
  return description
    .replace(/\((?:choices|default): [^()]*\)$/, (hint) =>
      hint.replaceAll('"', "").replace(", default:", "; default:"),
    )
    .replace(") (", "; ");
}

const STORE_OPTIONS = ["--database", "--dynamodb"];

/** The options of a store that a group of commands does not use. Its help does not show them. */
const HIDDEN_OPTIONS: Readonly<Record<string, readonly string[]>> = {
  database: ["--dynamodb"],
  tables: ["--database"],
  domains: STORE_OPTIONS,
  openapi: STORE_OPTIONS,
  release: STORE_OPTIONS,
  smoke: STORE_OPTIONS,
};

function visibleGlobalOptions(command: Command): Option[] {
  const path: string[] = [];
  for (let level: Command | null = command; level !== null; level = level.parent) path.push(level.name());
  const hidden = HIDDEN_OPTIONS[path.at(-2) ?? ""] ?? [];
  const options = new Help();
  options.showGlobalOptions = true;
  return options.visibleGlobalOptions(command).filter(({ long }) => !hidden.includes(long ?? ""));
}
