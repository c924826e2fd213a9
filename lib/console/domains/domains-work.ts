import type { Clock } from "../../clock.ts";
import type { DomainsOptions } from "./domains-source.ts";
import { createProgress, type HostProgress } from "./progress.ts";
import { openHosts, type ProjectHosts } from "./project-hosts.ts";

/** What the pages of the domains work on. */
export interface DomainsWork {
  readonly source: DomainsOptions["source"]["kind"];
  readonly hosts: ProjectHosts;
  readonly progress: HostProgress;
  readonly clock: Clock;
}

/** Opens the domains. Nothing is looked up yet. */
export function openDomains(options: DomainsOptions, clock: Clock): DomainsWork {
  const opened = openHosts(options.source);
  let knownZones: readonly string[] = [];
  const progress = createProgress(options, clock, () => knownZones);
  const hosts: ProjectHosts = {
    ...opened,
    async read() {
      const snapshot = await opened.read();
      if (snapshot.ok) {
        knownZones = snapshot.knownZones;
        // A host that is added again starts anew.
        progress.keep(snapshot.hosts.map(({ host }) => host));
      }
      return snapshot;
    },
  };
  return { source: options.source.kind, hosts, progress, clock };
}
