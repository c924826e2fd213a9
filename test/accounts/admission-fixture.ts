import type { Decision, KeyState } from "../../lib/accounts/admission.ts";
import { NO_USAGE } from "../../lib/plans/windows.ts";

export const AT = Date.UTC(2026, 10, 20, 12);
/** A key without any request. */
export const unused: KeyState = {
  accountId: "acme",
  plan: "enterprise",
  customLimits: { perMinute: 4, perDay: 9 },
  usage: NO_USAGE,
  key: { id: "acme.1", hash: "0", createdAt: 0 },
};

/** Saves a decision, as a store does. */
export function save(state: KeyState, { save: changed }: Decision): KeyState {
  return {
    ...state,
    usage: changed.usage ?? state.usage,
    rejections: changed.rejections ?? state.rejections,
  };
}
