/** The hosts of the project, from a domains file or from the outputs of a stack. */
import { isInvalidInput } from "../../core/errors.ts";
import type { Clock } from "../../core/time.ts";
import type { HostRole } from "../../domains/mapping.ts";
import type { CertificateProbe } from "../../domains/observation.ts";
import type { Deployment } from "../../domains/verification/advice.ts";
import type { CertificateAuthority } from "../../domains/verification/caa.ts";
import type { DnsResolver } from "../../domains/verification/resolver.ts";
import type { HostToVerify } from "../../domains/verification/verify.ts";
import type { Plan } from "../../plans/plan-limits.ts";
import type { DomainChange, DomainsChange } from "./domains-file.ts";
import type { HostProgress } from "./progress.ts";

/** The source of the console's domains, and the means to verify them. */
export interface DomainsOptions {
  readonly source: FileSource | StackSource;
  readonly resolver: DnsResolver;
  readonly authorities: readonly CertificateAuthority[];
  readonly probe: CertificateProbe;
  /** @default "stack" */
  readonly deployment?: Deployment;
  /** The zones of hosts, by host. They override the zones that DNS has. @default none */
  readonly zones?: ReadonlyMap<string, string>;
  /**
   * The time between two verifications of a host whose progress is on screen, in milliseconds.
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
interface StackSource {
  readonly kind: "stack";
  /** The outputs' name for people. */
  readonly name: string;
  /** Reads the outputs again. Rejects with an `InvalidInputError` if they are not those of this service. */
  read(): Promise<{ readonly hosts: readonly HostToVerify[]; readonly knownZones: readonly string[] }>;
}

/** The kind of a source. */
export type SourceKind = DomainsOptions["source"]["kind"];

/** The hosts of the project at one time. */
export interface KnownHosts {
  readonly ok: true;
  /** The version of the file; empty for a stack. */
  readonly version: string;
  readonly hosts: readonly HostToVerify[];
  readonly knownZones: readonly string[];
}

/** The hosts of the project at one time, or every problem of their source. */
export type HostsSnapshot = KnownHosts | { readonly ok: false; readonly problems: readonly HostsProblem[] };

/** A problem of a domains file or of a stack's outputs, with its position. */
export interface HostsProblem {
  /** From 1. Missing if the problem has no place. */
  readonly line?: number;
  /** From 1. */
  readonly column?: number;
  /** The path of the value, such as `domains.redirects[0].from`. Empty if the file is not YAML. */
  readonly path: string;
  readonly message: string;
}

/** A domains file, or the outputs of a stack. */
export interface HostSource {
  readonly kind: SourceKind;
  /** The source's name for people. */
  readonly name: string;
  /** Reads the hosts as they are now. */
  read(): Promise<HostsSnapshot>;
  /** Makes a change of the version that its author saw. Missing if the console cannot change the source. */
  change?(version: string, change: DomainChange): Promise<DomainsChange>;
}

/** The dependencies of the pages about domains. */
export interface DomainsContext {
  readonly source: HostSource;
  readonly progress: HostProgress;
  readonly clock: Clock;
}

/** Opens the outputs of a stack. */
export function openStack({ kind, name, read }: StackSource): HostSource {
  return {
    kind,
    name,
    async read() {
      try {
        return { ok: true, version: "", ...(await read()) };
      } catch (error) {
        if (!isInvalidInput(error)) throw error;
        return { ok: false, problems: error.issues };
      }
    },
  };
}

/** The name of the primary, if there is one. */
export function primaryOf({ hosts }: KnownHosts): string | undefined {
  return hosts.find(({ role }) => role === "primary")?.host;
}

/** The word for the role of a host. */
export const ROLE_NAMES: Readonly<Record<HostRole, string>> = {
  primary: "Primary",
  alias: "Alias",
  redirect: "Redirect",
};

/** The field for the role of a host, with what each role means. */
export const ROLE_FIELD = {
  ...{ name: "role", label: "What it does" },
  options: [
    ["alias", "Serves the same as the primary"],
    ["redirect", "Redirects to the primary (301)"],
    ["primary", "Becomes the primary; the present one becomes an alias"],
  ],
} as const;
