import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { invalidInput } from "../errors.ts";
import { explainFileError } from "./system-error.ts";
import type { Terminal } from "./terminal.ts";

/** Reads the outputs of a stack as JSON from a file, or from standard input for `-`. `hint` says what to pass. */
export async function readStackOutputs(
  path: string,
  hint: string,
  { input }: Pick<Terminal, "input">,
): Promise<unknown> {
  const content = await (path === "-" ? text(input) : readContent(path, hint));
  try {
    return JSON.parse(content);
  } catch {
    throw invalidInput(path, `This is not JSON. ${hint}`);
  }
}

async function readContent(path: string, hint: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    throw invalidInput(path, `${explainFileError(error, "read")} ${hint}`);
  }
}
