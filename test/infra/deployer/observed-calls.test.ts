import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { withDefaults } from "../../../infra/config/settings.ts";
import { CALLS } from "../../../infra/deployer/calls.ts";
import {
  boundaryArn,
  deployerPolicies,
  type PolicyDocument,
} from "../../../infra/deployer/policy-documents.ts";
import { defineDomains } from "../../../lib/domains/parse.ts";
import { allows, type Context } from "./iam.ts";

/** By type of resource, operation and IAM action: a resource of the call. The file says how they were recorded. */
interface ObservedCalls {
  readonly [type: string]: { readonly [operation: string]: { readonly [action: string]: string } };
}

const { calls: observed }: { readonly calls: ObservedCalls } = JSON.parse(
  readFileSync(new URL("observed-calls.json", import.meta.url), "utf8"),
);
const calls = Object.entries(observed).flatMap(([type, operations]) =>
  Object.entries(operations).flatMap(([operation, actions]) =>
    Object.entries(actions).map(([action, resource]) => ({ type, operation, action, resource })),
  ),
);

const target = { region: "eu-central-1", account: "123456789012", prefix: "store-orders-production" };
const domains = defineDomains({ primary: "orders.example.com" }, { plan: "pro" });
const everyOption = { accessLogs: "account", alarmEmail: "ops@example.com" } as const;
const waf = { requestsPerFiveMinutes: 3000 };
const events = { bus: "default" };
const withEverything = withDefaults({ plan: "pro", domains, waf, events, ...everyOption });
const cloudflare = deployerPolicies(withEverything, target);
const manual = deployerPolicies({ ...withEverything, dns: "manual" }, target);
const route53 = deployerPolicies({ ...withEverything, dns: "route53" }, target);

const ofEventsFunction = {
  "lambda:FunctionArn": `arn:aws:lambda:${target.region}:${target.account}:function:${target.prefix}-events-function-1a2b3c4:live`,
};

/** The condition keys of a call by this program, which the recording does not have. */
const CONTEXTS: Readonly<Record<string, Context>> = {
  "iam:CreateRole": { "iam:PermissionsBoundary": boundaryArn(withEverything, target) },
  "iam:PutRolePolicy": { "iam:PermissionsBoundary": boundaryArn(withEverything, target) },
  "events:PutTargets": { "events:TargetArn": ofEventsFunction["lambda:FunctionArn"] },
  "lambda:CreateEventSourceMapping": ofEventsFunction,
  "lambda:DeleteEventSourceMapping": ofEventsFunction,
  "lambda:AddPermission": { "lambda:Principal": "apigateway.amazonaws.com" },
};
const allowed = (policies: readonly PolicyDocument[], action: string, resource: string) =>
  allows(policies, { action, resource, context: CONTEXTS[action] ?? {} });

/** The reasons for actions in the policies that no run has called. */
const EXPLAINED: readonly (readonly [actions: RegExp, reason: string])[] = [
  [
    /:(Tag|Untag)(Queue|Resource|Role)$|acm:(AddTagsTo|RemoveTagsFrom)Certificate/,
    "tags by 'aws:defaultTags'",
  ],
  [
    /:List(QueueTags|Tags|TagsOfResource|TagsForResource|TagsForCertificate)$/,
    "the provider reads tags in a refresh",
  ],
  [/iam:PassRole|apigateway:SetWebACL/, "no calls: AWS checks them in CreateFunction and AssociateWebACL"],
  [/iam:List\w+/, "the provider reads what a role has before it deletes the role"],
  [
    /dynamodb:DescribeTimeToLive|lambda:(GetFunctionCodeSigningConfig|GetFunctionConfiguration|ListVersionsByFunction)|wafv2:GetWebACLForResource|sns:GetSubscriptionAttributes/,
    "the provider reads the whole resource",
  ],
  [/iam:PutRolePermissionsBoundary/, "the first update with the setting 'permissionsBoundary'"],
  [
    /logs:DeleteRetentionPolicy|(sns|sqs):Set\w+|lambda:UpdateEventSourceMapping/,
    "changes of settings that this program never changes",
  ],
  [/sts:GetCallerIdentity/, "the provider asks at its start who it is"],
  [/iam:CreateServiceLinkedRole/, "made by API Gateway, with the first domain name of an account"],
  [/acm:GetCertificate/, "the look-up of a certificate that is issued"],
];

describe("the policies of the deployer", () => {
  test.each(calls)("allow $action for $type ($operation)", ({ type, operation, action, resource }) => {
    const elsewhere = operation === "invoke" ? manual : cloudflare;
    const { preview, deploy, functions } = type.startsWith("aws:route53/") ? route53 : elsewhere;
    expect(allowed([preview, deploy, functions], action, resource), `${action} on ${resource}`).toBe(true);
    if (operation === "read" || operation === "invoke")
      expect(allowed([preview], action, resource)).toBe(true);
    else expect(CALLS.flatMap(({ types }) => types)).toContain(type);
  });

  test.each(["restapis/a1b2", "restapis/a1b2/stages/live", "domainnames/orders.example.com"])(
    "allow a provider with default tags to set those of %s, and a preview to read them",
    (path) => {
      const tagged = encodeURIComponent(`arn:aws:apigateway:${target.region}::/${path}`);
      const resource = `arn:aws:apigateway:${target.region}::/tags/${tagged}`;
      for (const action of ["apigateway:PUT", "apigateway:DELETE"]) {
        expect(allowed([cloudflare.deploy], action, resource), action).toBe(true);
        expect(allowed([cloudflare.preview], action, resource), action).toBe(false);
      }
      expect(allowed([cloudflare.preview], "apigateway:GET", resource)).toBe(true);
    },
  );

  test("allow no call that changes something in a preview", () => {
    const changing = calls.filter(
      ({ operation, action }) =>
        !/^(read|invoke)$/.test(operation) && !/:(GET|Get|List|Describe)/.test(action),
    );
    expect(changing.length).toBeGreaterThan(40);
    expect(
      changing.filter(({ action, resource }) => allowed([cloudflare.preview], action, resource)),
    ).toEqual([]);
  });

  test("contain only actions that a run has called or that have an explanation", () => {
    const called = new Set(calls.map(({ action }) => action));
    const others = CALLS.flatMap(({ actions }) => actions.filter((action) => !called.has(action)));
    expect(others.filter((action) => !EXPLAINED.some(([actions]) => actions.test(action)))).toEqual([]);
    expect(EXPLAINED.filter(([actions]) => !others.some((action) => actions.test(action)))).toEqual([]);
  });

  test("do not allow the calls for resources of another stack", () => {
    const own = calls.filter(({ resource }) => resource.includes("store-orders-production"));
    const foreign = own.map(({ resource, ...call }) => ({
      ...call,
      resource: resource.replace("store-orders-production", "store-orders-staging"),
    }));
    expect(foreign.length).toBeGreaterThan(30);
    expect(
      foreign.filter(({ action, resource }) =>
        allowed([cloudflare.preview, cloudflare.deploy, cloudflare.functions], action, resource),
      ),
    ).toEqual([]);
  });
});
