/** A request target (RFC 9112, section 3.2) or a URL: the path with its query and, if it is absolute, the authority. */
export interface RequestTarget {
  readonly authority: string | undefined;
  readonly path: string;
}

/** Splits a request target or a URL. Nothing is decoded. */
export function splitTarget(target: string): RequestTarget {
  const [start, authority] = /^https?:\/\/([^/?#]*)/i.exec(target) ?? [];
  if (start === undefined) return { authority, path: target };
  const path = target.slice(start.length);
  return { authority, path: path.startsWith("/") ? path : `/${path}` };
}
