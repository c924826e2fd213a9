import { config } from "zod";

/** For schemas in pages, whose content security policy can forbid generated code. Those of others keep their speed. */
export function withoutEval<Schema>(create: () => Schema): Schema {
  const { jitless } = config();
  config({ jitless: true });
  try {
    return create();
  } finally {
    config({ jitless });
  }
}
