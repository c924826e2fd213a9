import { invalidInput } from "../errors.ts";

/** Replaces the error of an optional package that is not installed by one that says how to install it. */
export function explainMissingPackage(error: unknown): unknown {
  if (!(error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND")) return error;
  const [, name] = /^Cannot find package '([^']+)'/.exec(error.message) ?? [];
  if (name === undefined) return error;
  const install = `Run 'npm install ${name}', with --global if store-orders was installed with it.`;
  return invalidInput(name, `The package is not installed, and this command needs it. ${install}`);
}
