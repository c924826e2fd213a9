/** The type token of a component, as Pulumi shows it. */
export function typeToken(component: string): string {
  return `store-orders:infra:${component}`;
}

/**
 * The part of a logical name that stands for a host. It depends on that host alone, so a neighbour that comes or
 * goes renames nobody; a hyphen in the host is doubled, so that no two hosts share a name.
 */
export function hostKey(host: string): string {
  return host.replaceAll("-", "--").replaceAll(".", "-");
}

/** The mark in the comment of every DNS record of a stack, by which it knows its own. */
export function ownershipComment(project: string, stack: string): string {
  return `${project}/${stack}, kept by Pulumi`;
}
