import type { ApiKey, RejectionCount } from "../accounts/account.ts";
import { keyStateAt } from "../accounts/account-usage.ts";
import type { Instant } from "../clock.ts";
import type { Result } from "./results.ts";

/** The columns of a table of keys. */
export const KEY_COLUMNS = ["keyId", "state", "bannedUntil", "created", "expires", "revoked", "successorId"];

/** Describes a key for people, without its hash. */
export function summarizeKey(key: ApiKey, now: Instant, rejections?: RejectionCount): Result {
  const bannedUntil = rejections?.bannedUntil ?? 0;
  return {
    keyId: key.id,
    state: keyStateAt(key, bannedUntil, now),
    bannedUntil: bannedUntil > now ? toRfc3339(bannedUntil) : null,
    created: toRfc3339(key.createdAt),
    expires: toRfc3339(key.expiresAt),
    revoked: toRfc3339(key.revokedAt),
    successorId: key.successorId ?? null,
  };
}

/** Returns `null` for a missing instant, and for one that no date can represent: a key that expires then never does. */
export function toRfc3339(instant: Instant | undefined): string | null {
  const date = new Date(instant ?? Number.NaN);
  return Number.isNaN(date.getTime()) ? null : date.toISOString();
}
