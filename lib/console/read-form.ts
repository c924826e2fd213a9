import type { Context } from "hono";

/** The largest form is a few hundred bytes. */
const MAX_BYTES = 64 * 1024;

const FORM = /^application\/x-www-form-urlencoded(?:;|$)/i;

/** Decides by its headers whether a form is short enough to be read. Browsers always send the length. */
export function isShortForm(contentLength: string | undefined): boolean {
  return contentLength !== undefined && Number(contentLength) <= MAX_BYTES;
}

/** Reads the fields of a form. What is not a form, or ends early, has none, and so no token. */
export async function readForm({ req }: Context): Promise<Readonly<Record<string, string>>> {
  if (!FORM.test(req.header("content-type") ?? "")) return {};
  return Object.fromEntries(new URLSearchParams(await req.text().catch(() => "")));
}
