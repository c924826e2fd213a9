import type { HeaderFields } from "./reply.ts";

/** Headers of a page and its files: scripts, styles and requests of this origin only, nothing inline, and no framing. */
export const PAGE_HEADERS: HeaderFields = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};
