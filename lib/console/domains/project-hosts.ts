import { hostsOf } from "../../domains/mapping.ts";
import type { HostToVerify } from "../../domains/verification/verify-hosts.ts";
import { isInvalidInput } from "../../errors.ts";
import { type DomainsFile, openDomainsFile } from "./domains-file.ts";
import type { DomainsOptions } from "./domains-source.ts";
import type { FileProblem } from "./parse-file.ts";

/** The hosts of the project at one time, or why they are not known. */
export type HostsSnapshot =
  | {
      readonly ok: true;
      /** Of the file; empty for a stack. */
      readonly version: string;
      readonly hosts: readonly HostToVerify[];
      readonly knownZones: readonly string[];
    }
  | { readonly ok: false; readonly code: "invalid_hosts"; readonly problems: readonly FileProblem[] };

/** The hosts of the project, from a domains file or from the outputs of a stack. */
export interface ProjectHosts {
  /** Their place, for people. */
  readonly name: string;
  read(): Promise<HostsSnapshot>;
  /** The file, if they can be changed. */
  readonly file?: DomainsFile;
}

/** Opens the hosts of a project. They are read again whenever they are asked for. */
export function openHosts(source: DomainsOptions["source"]): ProjectHosts {
  if (source.kind === "file") {
    const file = openDomainsFile(source.path, source.plan);
    const { target } = source;
    return {
      name: source.path,
      file,
      async read() {
        const snapshot = await file.read();
        if (!snapshot.ok) return { ok: false, code: "invalid_hosts", problems: snapshot.problems };
        const hosts = hostsOf(snapshot.domains).map((host) => ({ ...host, ...(target && { target }) }));
        return { ok: true, version: snapshot.version, hosts, knownZones: [] };
      },
    };
  }
  return {
    name: source.name,
    async read() {
      try {
        return { ok: true, version: "", ...(await source.read()) };
      } catch (error) {
        if (!isInvalidInput(error)) throw error;
        return { ok: false, code: "invalid_hosts", problems: error.issues };
      }
    },
  };
}

/** The primary of the hosts. */
export function primaryOf({ hosts }: Extract<HostsSnapshot, { ok: true }>): string | undefined {
  return hosts.find(({ role }) => role === "primary")?.host;
}
