/** Where the calls of an alias go. */
export interface Routing {
  /** The version that gets what no other version gets. */
  readonly version: string;
  /** The version that gets a part, and its weight from 0 to 1. */
  readonly canary?: { readonly version: string; readonly weight: number };
}

/** An alias as it is. */
export interface AliasState extends Routing {
  /** The version that had all traffic before the last shift, if it is known. */
  readonly previous?: string;
  /** Changes with every change of the alias. */
  readonly revision: string;
}

/** An alias of a function. */
export interface AliasName {
  readonly name: string;
  readonly alias: string;
}

/** The calls to the cloud that a release makes. Each throws the platform's error. */
export interface ReleasePlatform {
  find(alias: AliasName): Promise<AliasState>;
  /** Changes an alias, unless someone else has changed it since `revision`. */
  route(
    alias: AliasName,
    change: Routing & { readonly previous?: string; readonly revision: string },
  ): Promise<AliasState>;
  /** Returns which of these alarms fire. Throws if one of them does not exist. */
  findFiring(alarms: readonly string[]): Promise<readonly string[]>;
}
