import { type DynamodbProxy, startProxy } from "../../support/dynamodb/proxy.ts";
import type { Value } from "./wire.ts";

/** A statement of a policy in a registration. */
export interface PolicyStatement {
  readonly Action: readonly string[];
  readonly Resource: string;
}

/** A proxy of DynamoDB that forwards only the calls that a policy allows, and records them. */
export interface AuthorizingProxy extends Pick<DynamodbProxy, "endpoint" | "close"> {
  /** The forwarded and the denied calls: `dynamodb:GetItem on <table>`. */
  readonly used: ReadonlySet<string>;
  readonly denied: ReadonlySet<string>;
}

/** The calls that a policy allows on tables, in the format of `used`. */
export function allowedOnTables(policy: Value | undefined): readonly string[] {
  const { Statement } = policy as unknown as { Statement: readonly PolicyStatement[] };
  return Statement.flatMap(({ Action, Resource }) =>
    Action.map((action) => `${action} on ${Resource.split(":table/")[1] ?? ""}`),
  )
    .filter((text) => text.startsWith("dynamodb:"))
    .sort();
}

/** Starts a proxy that authorizes the calls to a DynamoDB endpoint, like IAM. */
export async function startAuthorizingProxy(
  endpoint: string,
  allowed: readonly string[],
): Promise<AuthorizingProxy> {
  const used = new Set<string>();
  const denied = new Set<string>();
  const proxy = await startProxy(endpoint, ({ operation, table, index }) => {
    const call = `dynamodb:${operation} on ${table}${index === undefined ? "" : `/index/${index}`}`;
    const isAllowed = allowed.includes(call);
    (isAllowed ? used : denied).add(call);
    return isAllowed ? "pass" : "deny";
  });
  return { endpoint: proxy.endpoint, used, denied, close: proxy.close };
}
