import type { Settings } from "../config/settings.ts";
import { CALLS } from "./calls.ts";

/** Where a stack is deployed. */
export interface DeployTarget {
  readonly region: string;
  /** The AWS account: 12 digits. */
  readonly account: string;
  /** `<project>-<stack>`, with which the names of its resources begin. */
  readonly prefix: string;
}

/** An IAM policy document. */
export interface PolicyDocument {
  readonly Version: "2012-10-17";
  readonly Statement: readonly {
    readonly Effect: "Allow";
    readonly Action: readonly string[];
    readonly Resource: string | readonly string[];
  }[];
}

/** The policies of the two roles of a pipeline. */
export interface DeployerPolicies {
  /** Reads everything that a preview, also with --refresh, compares with the program. */
  readonly preview: PolicyDocument;
  /** Creates, changes and deletes the resources of the stack, releases, and places the order of the smoke test. */
  readonly deploy: PolicyDocument;
}

/** AWS cannot limit these calls to resources. */
const UNLIMITED: ReadonlySet<string> = new Set([
  "acm:ListCertificates",
  "acm:RequestCertificate",
  "logs:DescribeLogGroups",
  "sns:GetSubscriptionAttributes",
  "sns:SetSubscriptionAttributes",
  "sns:Unsubscribe",
  "sts:GetCallerIdentity",
]);

/** The policies for a stack: exactly the calls for the resources that its settings need. */
export function deployerPolicies(settings: Settings, target: DeployTarget): DeployerPolicies {
  const types = Object.values(CALLS).filter(({ neededBy }) => neededBy?.(settings) ?? true);
  const lookups =
    settings.dns === "manual" && settings.domains !== undefined
      ? ["acm:GetCertificate", "acm:ListCertificates", "acm:ListTagsForCertificate"]
      : [];
  const read = [
    { actions: ["sts:GetCallerIdentity", ...lookups], resources: ["acm:REGION:ACCOUNT:certificate/*"] },
    ...types.map(({ read, resources }) => ({ actions: read, resources })),
  ];
  const write = types.map(({ write, resources }) => ({ actions: write, resources }));
  const smokeTest = {
    actions: ["dynamodb:GetItem", "dynamodb:PutItem"],
    resources: ["dynamodb:REGION:ACCOUNT:table/PREFIX-orders"],
  };
  return { preview: toDocument(read, target), deploy: toDocument([...read, ...write, smokeTest], target) };
}

interface Grant {
  readonly actions: readonly string[];
  readonly resources: readonly string[];
}

/** One statement for each set of resources, sorted, so that two versions can be compared. */
function toDocument(grants: readonly Grant[], { region, account, prefix }: DeployTarget): PolicyDocument {
  const byResources = new Map<string, Set<string>>();
  for (const { actions, resources } of grants) {
    for (const action of actions) {
      const key = UNLIMITED.has(action) ? "*" : resources.join(" ");
      byResources.set(key, (byResources.get(key) ?? new Set()).add(action));
    }
  }
  const arn = (name: string) =>
    `arn:aws:${name.replace("REGION", region).replace("ACCOUNT", account).replace("PREFIX", prefix)}`;
  const statements = [...byResources].map(([resources, actions]) => ({
    Effect: "Allow" as const,
    Action: [...actions].toSorted(),
    Resource: resources === "*" ? "*" : resources.split(" ").map(arn),
  }));
  return { Version: "2012-10-17", Statement: statements };
}
