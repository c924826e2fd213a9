/** A brand for the compiler: only the functions that validate a mapping return it, and a spread copy loses it. */
declare abstract class Validated {
  private readonly validated: true;
}

/**
 * The custom hosts of a project, validated by `defineDomains`, `parseDomains` or `parseDomainsFile`: names are in lower case,
 * punycode, without the trailing dot. See lib/domains/README.md#domain-mapping.
 */
export interface DomainMapping extends Validated {
  /** The host that the project is published under. Without it there is no custom host at all. */
  readonly primary?: string;
  /** Hosts that serve the same as the primary. */
  readonly aliases: readonly string[];
  readonly redirects: readonly DomainRedirect[];
}

/** A host that redirects to the primary. */
export interface DomainRedirect {
  readonly from: string;
  /** The primary. */
  readonly to: string;
  readonly status: 301;
}

/** A mapping as it is written, before validation: names are in any spelling, and `{}` means no custom host. */
export interface DomainsInput {
  readonly primary?: string;
  readonly aliases?: readonly string[];
  readonly redirects?: readonly { readonly from: string; readonly to: string; readonly status?: 301 }[];
}

/** The role of a host in the mapping. */
export type HostRole = "primary" | "alias" | "redirect";

/** A host with its role. */
export interface ConfiguredHost {
  readonly host: string;
  readonly role: HostRole;
}

/** Returns every host of a mapping with its role, the primary first. */
export function hostsOf({ primary, aliases, redirects }: DomainMapping): readonly ConfiguredHost[] {
  return [
    ...(primary === undefined ? [] : [{ host: primary, role: "primary" } as const]),
    ...aliases.map((host) => ({ host, role: "alias" }) as const),
    ...redirects.map(({ from }) => ({ host: from, role: "redirect" }) as const),
  ];
}

/** Writes a mapping as short JSON, for an environment variable: all redirects lead to the primary. */
export function serializeDomains({ primary, aliases, redirects }: DomainMapping): string {
  const hosts = { aliases: aliases.join(" "), redirects: redirects.map(({ from }) => from).join(" ") };
  return JSON.stringify({ primary, ...hosts });
}

/** Reads the output of `serializeDomains` without the validation, in a deployed process that must stay small. */
export function deserializeDomains(json: string): DomainMapping {
  const { primary, aliases, redirects } = JSON.parse(json);
  const hostsIn = (text: string) => text.split(" ").filter(Boolean);
  return {
    ...(primary === undefined ? {} : { primary }),
    aliases: hostsIn(aliases),
    redirects: hostsIn(redirects).map((from) => ({ from, to: primary, status: 301 })),
  } as unknown as DomainMapping;
}
