import type { Item } from "./item.ts";
import type { ConditionalUpdate } from "./table.ts";

/** The number of tokens that an account keeps. */
const MAX_TOKENS = 4;

/**
 * Makes a write count once, although the AWS client repeats it if its response is lost: it writes a token, and its
 * condition is that the account does not have this token. An account keeps few tokens, each in the place that its text
 * determines. So a write that is repeated after several others were counted may still count twice.
 */
export function onceOnly(token: string, write: ConditionalUpdate): ConditionalUpdate {
  return {
    ...write,
    update: write.update.replace("SET ", `SET #tokens[${placeOf(token)}] = :token, `),
    condition: `NOT contains(#tokens, :token) AND ${write.condition}`,
    values: { ...write.values, ":token": { S: token } },
  };
}

/** True if the write with this token was counted, and no other has taken its place since. */
export function isCounted(item: Item, token: string): boolean {
  return item["tokens"]?.L?.some(({ S }) => S === token) ?? false;
}

function placeOf(token: string): number {
  return (token.codePointAt(0) ?? 0) % MAX_TOKENS;
}
