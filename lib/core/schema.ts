import { config } from "zod";

/**
 * Creates a schema of zod that generates no code. A page's content security policy can forbid that, and would report it
 * at each load. The schemas of others keep their speed.
 */
export function withoutEval<Schema>(create: () => Schema): Schema {
  const { jitless } = config();
  config({ jitless: true });
  try {
    return create();
  } finally {
    config({ jitless });
  }
}
