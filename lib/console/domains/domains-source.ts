import type { HostRole } from "../../domains/mapping.ts";
import type { CertificateAuthority } from "../../domains/verification/caa.ts";
import type { DnsResolver } from "../../domains/verification/resolver.ts";
import type { HostToVerify } from "../../domains/verification/verify-hosts.ts";
import type { CertificateProbe } from "../../domains/watch/certificate-check.ts";
import type { Plan } from "../../plans/plan-limits.ts";

/** Where the console's domains come from, and how they are verified. */
export interface DomainsOptions {
  readonly source: FileSource | StackSource;
  readonly resolver: DnsResolver;
  readonly authority: CertificateAuthority;
  readonly probe: CertificateProbe;
  /**
   * How long to wait between two verifications of a host whose progress is on screen, in milliseconds.
   * @default 15000
   */
  readonly intervalMs?: number;
}

/** The file that `serve --domains` reads. The console changes it. */
export interface FileSource {
  readonly kind: "file";
  readonly path: string;
  /** The plan of the project. */
  readonly plan: Plan;
  /** The platform host that the records point to, if known. */
  readonly target?: string;
}

/** The outputs of a stack. The console changes nothing of it. */
export interface StackSource {
  readonly kind: "stack";
  /** The outputs' name for people. */
  readonly name: string;
  /** Reads the outputs again. Rejects with an `InvalidInputError` if they are not those of this service. */
  read(): Promise<{ readonly hosts: readonly HostToVerify[]; readonly knownZones: readonly string[] }>;
}

/** The word for the role of a host. */
export const ROLE_NAMES: Readonly<Record<HostRole, string>> = {
  primary: "Primary",
  alias: "Alias",
  redirect: "Redirect",
};
