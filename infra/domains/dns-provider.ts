import * as pulumi from "@pulumi/pulumi";
import { errorMessage } from "../../lib/core/errors.ts";
import { isMocked } from "../mocks.ts";

export interface DnsProvider {
  readonly label: string;
  /** The Pulumi package of its lookups and records. */
  readonly packageName: "aws" | "cloudflare";
  readonly credentials: string;
  /** The record that routes a host, and the types of existing records that it can be made of. */
  readonly route: { readonly type: string; readonly adoptable: readonly string[] };
  /** The same record as the outputs of a stack describe it. */
  readonly routeOutput: { readonly type: string; readonly ttl: number };
  /** What to do if a host's record exists, but not in the state of the stack. */
  readonly takeOver: string;
  describeMissingZone(names: readonly string[]): string;
  /** Completes the sentence about a record that prevents the host's record, and says how to keep that record. */
  describeConflict(record: ZoneRecord, zone: string, ownComment: string): string;
  zonesNamed(name: string, options: pulumi.InvokeOptions): Promise<readonly Zone[]>;
  findRecords(
    zoneId: string,
    names: readonly string[],
    options: pulumi.InvokeOptions,
  ): Promise<readonly ZoneRecord[]>;
  createRecord(
    name: string,
    place: RecordPlace,
    record: NewRecord,
    options: pulumi.CustomResourceOptions,
  ): pulumi.CustomResource;
}

export interface Zone {
  readonly id: string;
  /** In normal form: lower case, punycode. */
  readonly name: string;
  readonly nameServers: readonly string[];
  /** `active`, or why DNS does not ask the provider for this zone. `unknown` if the provider cannot tell. */
  readonly status: string;
  /** True if DNS asks the provider for it, false if it asks others, or nobody. @default unknown */
  readonly isAsked?: boolean | undefined;
  /** Why no records can be created in it, with the fix. */
  readonly problem?: string | undefined;
  /** What to know about it, although records can be created. */
  readonly notes: readonly string[];
}

/** Its name, and a name in its content, are in normal form. */
export interface ZoneRecord {
  /** What `adopt` takes. */
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly content: string;
  /** The mark of the stack that created it, if the provider has a place for one. */
  readonly comment?: string | null;
}

interface RecordPlace {
  readonly zoneId: string;
  readonly comment: string;
  /** The identifier of an existing record to import. @default a new one is created */
  readonly adopt?: string | undefined;
}

export interface NewRecord {
  /** In normal form. */
  readonly name: pulumi.Input<string>;
  readonly value: pulumi.Input<string>;
  /** The zone that AWS has the value in. Missing for a validation record. */
  readonly targetZoneId?: pulumi.Input<string>;
}

/** AWS ends names with a dot. */
export function withoutTrailingDot(name: string | undefined): string {
  return (name ?? "").replace(/\.$/, "");
}

/** What a lookup at a DNS provider has found; a `RunError` if it cannot be made. Mocks that return nothing have `mocked`. */
export async function query<T>(
  { label, packageName, credentials }: Pick<DnsProvider, "label" | "packageName" | "credentials">,
  subject: string,
  send: () => Promise<T | undefined>,
  mocked: T,
): Promise<T> {
  try {
    const found = await send();
    if (found !== undefined) return found;
    if (isMocked()) return mocked;
    // A preview calls no provider whose own inputs it does not know.
    throw new Error(
      "the provider is not configured yet. Create what it is configured with in an update before.",
    );
  } catch (error) {
    const reason = errorMessage(error);
    const advice = reason.includes("explicit provider")
      ? `Pass a provider of the package '${packageName}' to the component, in 'providers'.`
      : credentials;
    throw new pulumi.RunError(`Cannot query ${label} for ${subject}: ${reason}\n${advice}`);
  }
}
