import type { FoundCertificate } from "./certificates.ts";
import type { RecordObserver } from "./observer.ts";

/** Where the DNS of a host is managed, and who creates its records. */
export type HostDns =
  | {
      readonly provider: "cloudflare";
      readonly zoneId: string;
      /** The comment of every record that is created; marks the record as owned by this program. */
      readonly comment: string;
      /**
       * How the record that routes traffic is handled. `managed`: created last. `held`: not created, everything else
       * is. `adopt`: the record with this identifier is imported.
       */
      readonly routing: "managed" | "held" | { readonly adopt: string };
    }
  | {
      /** The operator sets the records by hand. */
      readonly provider: "manual";
      /** The host's certificates. API Gateway accepts a domain name only once one has been issued. */
      readonly certificates: readonly FoundCertificate[];
      /** Looks the records up. @default none: the host is never reported as live */
      readonly observer?: RecordObserver;
    };

export type CloudflareDns = Extract<HostDns, { provider: "cloudflare" }>;
export type ManualDns = Extract<HostDns, { provider: "manual" }>;
