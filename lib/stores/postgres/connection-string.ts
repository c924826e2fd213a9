import { invalidInput } from "../../core/errors.ts";

/** `sslrootcert=system` stands for the authorities that Node trusts. Throws `InvalidInputError`, without the string. */
export function readConnectionString(
  text: string,
  option = "connectionString",
): { readonly connectionString: string; readonly schema?: string } {
  if (!isConnectionString(text)) {
    const message =
      "Use a URL such as postgres://user:password@host:5432/database, with %40 for an @ in the password.";
    throw invalidInput(option, message);
  }
  const start = text.replace(/\?.*/s, "");
  const parameters = new URLSearchParams(text.slice(start.length));
  const schema = parameters.get("schema") ?? undefined;
  // As libpq understands it. pg would read a file of this name.
  const usesSystemRoots = parameters.get("sslrootcert") === "system";
  if (schema === undefined && !usesSystemRoots) return { connectionString: text };
  parameters.delete("schema");
  if (usesSystemRoots) {
    parameters.delete("sslrootcert");
    parameters.set("sslmode", "verify-full");
  }
  return {
    connectionString: parameters.size === 0 ? start : `${start}?${parameters}`,
    ...(schema !== undefined && { schema }),
  };
}

/** True for a URL, also one whose host is in a parameter, and for the path of a socket. */
function isConnectionString(text: unknown): boolean {
  if (typeof text !== "string") return false;
  if (text.startsWith("/")) return true;
  return /^(postgres(ql)?:\/\/|socket:)/.test(text) && URL.canParse(text.replace("@/", "@host/"));
}

export function validatePoolSize(size: number, option = "poolSize"): void {
  if (!Number.isSafeInteger(size) || size < 1)
    throw invalidInput(option, "Use a whole number of connections, at least 1.");
}
