import { parseCustomHost } from "../../domains/custom-host.ts";
import { type DomainMapping, type HostRole, hostsOf } from "../../domains/mapping.ts";
import type { Issue } from "../../errors.ts";
import type { Plan } from "../../plans/plan-limits.ts";
import { type DomainChange, editDocument } from "./edit-document.ts";
import { hasAnchors, parseFile } from "./parse-file.ts";
import { isEditable, writeText } from "./write-text.ts";

/** The text of a file after a change, or why there is none. */
export type ChangedText =
  | { readonly ok: true; readonly text: string; readonly domains: DomainMapping }
  /** The change is invalid: the rules of every domains file reject its result. */
  | { readonly ok: false; readonly code: "invalid_domains"; readonly issues: readonly Issue[] }
  | {
      readonly ok: false;
      readonly code: "invalid_file" | "host_not_found" | "not_editable";
      readonly message: string;
    };

const NOT_EDITABLE =
  "The file is written in a way that the console cannot change without rewriting it, such as with YAML anchors. Edit it by hand.";

/** Changes the text of a domains file. Pure. The result is parsed and validated again before it is returned. */
export function changeDomains(text: string, plan: Plan, change: DomainChange): ChangedText {
  const before = parseFile({ text }, plan);
  if (!before.ok) {
    const message = "The file has an error, so nothing was written. Fix it first.";
    return { ok: false, code: "invalid_file", message };
  }
  if (change.kind !== "add" && !hostsOf(before.domains).some(({ host }) => host === change.host)) {
    return { ok: false, code: "host_not_found", message: `${change.host} is not in the file any more.` };
  }
  const { document } = before;
  if (hasAnchors(document) || !isEditable(document)) return notEditable();
  // The file gets the name in normal form. What is no name is rejected below, like anything else in the file.
  const named = parseCustomHost(change.host);
  const normal = named.ok ? { ...change, host: named.hostname } : change;
  editDocument(document, normal);
  const changed = writeText(document, text);
  const after = parseFile({ text: changed }, plan);
  if (!after.ok) return { ok: false, code: "invalid_domains", issues: after.problems };
  const isExpected = listRoles(rolesAfter(before.domains, normal)) === listRoles(rolesOf(after.domains));
  return isExpected ? { ok: true, text: changed, domains: after.domains } : notEditable();
}

type Roles = ReadonlyMap<string, HostRole>;

function rolesOf(domains: DomainMapping): Roles {
  return new Map(hostsOf(domains).map(({ host, role }) => [host, role]));
}

/** The role of every host after a change. */
function rolesAfter(domains: DomainMapping, change: DomainChange): Roles {
  const roles = new Map(rolesOf(domains));
  roles.delete(change.host);
  if (change.kind === "remove") return roles;
  if (change.role === "primary" && domains.primary !== undefined) roles.set(domains.primary, "alias");
  return roles.set(change.host, change.role);
}

function listRoles(roles: Roles): string {
  return JSON.stringify([...roles].toSorted());
}

function notEditable(): ChangedText {
  return { ok: false, code: "not_editable", message: NOT_EDITABLE };
}
