import { ERRORS } from "../errors.ts";
import type { Reply } from "./reply.ts";

/**
 * Returns the reply of an operation of your own. Throws if no response can be made of it, which is then a 500: the
 * runtime would reject the response, and the caller would get none.
 */
export function checkReply(reply: Reply): Reply {
  if (reply.error !== undefined && !Object.hasOwn(ERRORS, reply.error))
    throw new TypeError(`There is no error code '${reply.error}'. Return one of the operation's errors.`);
  if (reply.error === undefined && !STATUSES.has(reply.status))
    throw new TypeError(
      `The status ${reply.status} cannot be sent. Use one of: ${[...STATUSES].join(", ")}.`,
    );
  if (reply.error === undefined && reply.status === 204 && reply.body !== undefined)
    throw new TypeError("A response with status 204 has no body. Leave it out, or use 200.");
  for (const [name, value] of Object.entries(reply.headers ?? {})) {
    if (!NAME.test(name) || !VALUE.test(value))
      throw new TypeError(
        `The header ${JSON.stringify(name)} cannot be sent. Encode its name and value as ASCII.`,
      );
  }
  return reply;
}

const STATUSES: ReadonlySet<number> = new Set([200, 201, 202, 204, 301, 302]);

/** RFC 9110, section 5. */
const NAME = /^[!#$%&'*+.^_`|~0-9a-z-]+$/i;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
