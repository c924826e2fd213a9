/** Splits a request target (RFC 9112, 3.2) or a URL into the authority, if it is absolute, and path and query. */
export function splitTarget(target: string): {
  readonly authority: string | undefined;
  readonly path: string;
} {
  const [start, authority] = /^https?:\/\/([^/?#]*)/i.exec(target) ?? [];
  if (start === undefined) return { authority, path: target };
  const path = target.slice(start.length);
  return { authority, path: path.startsWith("/") ? path : `/${path}` };
}
