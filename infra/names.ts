/** The type token of a component, as Pulumi shows it. */
export function typeToken(component: string): string {
  return `store-orders:infra:${component}`;
}

/**
 * The part of a logical name that identifies a host. It depends on that host alone, so adding or removing another host
 * renames nothing. A hyphen in the host is doubled, so that no two hosts get the same key.
 */
export function hostKey(host: string): string {
  return host.replaceAll("-", "--").replaceAll(".", "-");
}

/** The comment of every DNS record that a stack creates. The preflight recognises the stack's own records by it. */
export function ownershipComment(project: string, stack: string): string {
  // Compared with records of earlier versions, so the wording must not change.
  return `${project}/${stack}, kept by Pulumi`;
}

/** The tag of every certificate that a stack requests. The preflight recognises the stack's own certificates by it. */
export function ownershipTag(project: string, stack: string): Readonly<Record<string, string>> {
  return { "store-orders:stack": `${project}/${stack}` };
}

/** The tag of a certificate that says when it was requested. */
export const REQUESTED_TAG = "store-orders:requested";
