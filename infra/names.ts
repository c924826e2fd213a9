import { createHash } from "node:crypto";
import * as pulumi from "@pulumi/pulumi";

export function typeToken(component: string): string {
  return `store-orders:infra:${component}`;
}

/** A host in logical names. Another host changes nothing, and the doubled hyphen tells two hosts apart. */
export const hostKey = (host: string): string => host.replaceAll("-", "--").replaceAll(".", "-");

export interface Owner {
  readonly project: string;
  readonly stack: string;
}

/** The owner: the project and stack of the program, or before they were renamed those that the settings name. */
export function ownerOf(
  { renamedFrom }: { readonly renamedFrom?: string | undefined },
  current: Owner = { project: pulumi.getProject(), stack: pulumi.getStack() },
): Owner {
  const [stack = current.stack, project = current.project] = renamedFrom?.split("/").toReversed() ?? [];
  return { project, stack };
}

/** A name that no other stack of the AWS account uses: it contains the project and the stack, once each. */
export function nameInAccount(name: string, { project, stack }: Owner = ownerOf({})): string {
  const contains = (part: string) => `-${name}-`.includes(`-${part}-`);
  const missing = [project, stack].filter((part) => !contains(part));
  return [name, ...missing].join("-").replaceAll(/[^\w-]/g, "-");
}

/** Checks the name of a service before anything is created: names that AWS limits begin with it. */
export function checkName(name: string, settings: { readonly events?: unknown }): void {
  const invalid = `The name '${name}' has a character that the name of a Lambda function must not have. Use letters, digits, '_' and '-' for the stack, the project and the component.`;
  if (!/^[\w-]+$/.test(name)) throw new pulumi.RunError(invalid);
  // A function has at most 64 characters: its suffix is `-list-function` or `-events-function`, and Pulumi adds 8 characters.
  const most = settings.events === undefined ? 42 : 40;
  const tooLong = `The name '${name}' has ${name.length} characters, but at most ${most} fit, because the names of the functions begin with it. Choose a shorter name for the stack, the project or the component.`;
  if (name.length > most) throw new pulumi.RunError(tooLong);
}

/** Cloudflare's limit, without a paid plan. */
const MAX_COMMENT_CHARS = 100;

/** The comment of every DNS record that a stack creates: the preflight recognises its own records by it. */
export function ownershipComment({ project, stack }: Owner): string {
  // Compared with records of earlier versions, so the wording must not change.
  const suffix = ", kept by Pulumi";
  const owner = `${project}/${stack}`;
  if (owner.length + suffix.length <= MAX_COMMENT_CHARS) return owner + suffix;
  const hash = createHash("sha256").update(owner).digest("hex").slice(0, 12);
  return `${owner.slice(0, MAX_COMMENT_CHARS - suffix.length - hash.length - 1)} ${hash}${suffix}`;
}

export function ownerInComment(comment: string | null | undefined): string | undefined {
  return /^(.+), kept by Pulumi$/.exec(comment ?? "")?.[1];
}

/** The tag of every certificate that a stack requests, for the same purpose. */
export function ownershipTag({ project, stack }: Owner): Readonly<Record<string, string>> {
  return { "store-orders:stack": `${project}/${stack}` };
}

export const REQUESTED_TAG = "store-orders:requested";
