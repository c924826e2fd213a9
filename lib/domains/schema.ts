import { z } from "zod";
import { findHostConflicts } from "./conflicts.ts";
import { parseCustomHost } from "./custom-host.ts";

const hostname = z
  .string({ error: "Write a hostname such as orders.example.com." })
  .meta({
    description: "A hostname such as orders.example.com, without a scheme, a port or a path.",
    // For editors. What it accepts is validated below.
    pattern: "^[^\\s:/?#@*_\\\\.。．｡]+([.。．｡][^\\s:/?#@*_\\\\.。．｡]+)+[.。．｡]?$",
  })
  .transform((text, context) => {
    const parsed = parseCustomHost(text);
    if (parsed.ok) return parsed.hostname;
    context.issues.push({ code: "custom", message: parsed.message, input: text });
    return z.NEVER;
  });

const redirectSchema = z.strictObject(
  {
    from: hostname.describe("The host that redirects."),
    to: hostname.describe("The primary host."),
    status: z
      .literal(301, { error: "Write 301, or omit it: redirects are permanent." })
      .default(301)
      .describe("301: redirects are permanent."),
  },
  { error: "Write a mapping with 'from' and 'to'." },
);

/** The schema of the `domains` mapping (zod). It holds every rule except those that depend on the project. */
export const domainsSchema = z
  .strictObject(
    {
      primary: hostname
        .exactOptional()
        .describe("The host that the project is published under. Omit everything to have no custom host."),
      aliases: z
        .array(hostname, { error: "Write a list of hostnames, or omit it." })
        .default([])
        .describe("Hosts that serve the same as the primary."),
      redirects: z
        .array(redirectSchema, { error: "Write a list of redirects, or omit it." })
        .default([])
        .describe("Hosts that redirect permanently to the primary."),
    },
    { error: "Write a mapping with 'primary', or {} to have no custom host." },
  )
  .superRefine(
    (mapping, context) => {
      for (const conflict of findHostConflicts(mapping)) context.addIssue({ code: "custom", ...conflict });
    },
    // Conflicts are reported together with invalid fields, so that all problems can be fixed at once.
    { when: () => true },
  );

/** The schema of a domains file: the mapping under the key `domains`, and nothing else. */
export const domainsFileSchema = z.strictObject(
  { domains: domainsSchema },
  { error: "Write the mapping under 'domains'." },
);

/** Returns the JSON Schema (2020-12) of the `domains` mapping. It cannot express the rules of hostnames. */
export function domainsJsonSchema(): object {
  return z.toJSONSchema(domainsSchema, { io: "input" });
}

/** Returns the JSON Schema (2020-12) of a domains file, for editors. */
export function domainsFileJsonSchema(): object {
  return z.toJSONSchema(domainsFileSchema, { io: "input" });
}

/** Returns the keys that are allowed at a path in a domains file. */
export function keysAt(path: readonly PropertyKey[]): readonly string[] {
  if (path.length === 0) return Object.keys(domainsFileSchema.shape);
  return Object.keys(path.length === 1 ? domainsSchema.shape : redirectSchema.shape);
}
