/** Generates the JSON Schema of stack files in infra/config, for editors. */
import * as z from "zod";
import { NAMESPACE, SECRET_SETTINGS, settingsSchema } from "../infra/config/schema.ts";

/**
 * Returns the JSON Schema (2020-12) of a stack file, for editors. It knows every key of this namespace; other
 * namespaces are free.
 */
export function stackFileJsonSchema(): object {
  const settings = z.toJSONSchema(settingsSchema, { io: "input" });
  const { properties = {}, $schema } = settings;
  const prefixed = Object.entries(properties).map(([key, schema]) => [
    `${NAMESPACE}:${key}`,
    SECRET_SETTINGS.has(key) ? { anyOf: [schema, SECRET] } : schema,
  ]);
  return {
    $schema,
    title: "Stack file of store-orders",
    description: "Every key is described in infra/README.md#configuration.",
    type: "object",
    properties: {
      config: {
        type: "object",
        properties: Object.fromEntries(prefixed),
        // A mistyped key of this namespace is an error; "aws:region" is not.
        patternProperties: { [`^(?!${NAMESPACE}:)`]: {} },
        additionalProperties: false,
      },
    },
  };
}

/** A secret as `pulumi config set --secret` writes it. */
const SECRET = {
  type: "object",
  properties: { secure: { type: "string" } },
  required: ["secure"],
  additionalProperties: false,
};
