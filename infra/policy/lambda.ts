import { hasWildcard } from "./iam.ts";
import { type Inputs, isOrUnknown, UNKNOWN } from "./inputs.ts";
import type { Policy } from "./policies.ts";

/** Rejects permissions to invoke a function for everyone, or for a service on behalf of everyone. */
export const requireNamedInvoker: Policy = ({ inputs }) => {
  const { action, principal, functionUrlAuthType } = inputs;
  return [
    ...(typeof action === "string" && hasWildcard(action)
      ? [`the action '${action}' has a wildcard. Name the call.`]
      : []),
    ...(functionUrlAuthType === "NONE"
      ? ["the function URL is public. Set 'functionUrlAuthType: AWS_IAM'."]
      : []),
    ...(isService(principal) && !hasNamedSource(inputs)
      ? [
          `any account can use ${principal} to invoke the function. Set 'sourceArn' to the ARN of one resource; if it contains no account, such as that of a bucket, set 'sourceAccount' too.`,
        ]
      : []),
  ];
};

/** Rejects function URLs that need no authorization. */
export const requireFunctionUrlAuthorization: Policy = ({ inputs }) =>
  isOrUnknown(inputs["authorizationType"] ?? inputs["authType"], "AWS_IAM")
    ? []
    : ["the function URL is public. Set 'authorizationType: AWS_IAM'."];

/** Rejects a principal with a wildcard outside of a policy document, such as that of a permission. */
export const requireNamedPrincipal: Policy = ({ inputs: { principal } }) =>
  typeof principal === "string" && hasWildcard(principal)
    ? [`the principal '${principal}' has a wildcard. Name the principal.`]
    : [];

/** A service such as `apigateway.amazonaws.com`, not an account or an ARN. */
function isService(principal: unknown): principal is string {
  return typeof principal === "string" && !principal.startsWith("arn:") && principal.includes(".");
}

function hasNamedSource({ sourceArn, sourceAccount, eventSourceToken }: Inputs): boolean {
  return (
    sourceArn === UNKNOWN ||
    sourceAccount === UNKNOWN ||
    eventSourceToken === UNKNOWN ||
    (typeof sourceArn === "string" && namesResource(sourceArn)) ||
    /^\d{12}$/.test(String(sourceAccount)) ||
    (typeof eventSourceToken === "string" && eventSourceToken !== "")
  );
}

/**
 * True if an ARN names the account and the resource: only the part after the first segment may have wildcards. The ARN
 * of a bucket has no account, and whoever takes over its name could invoke the function: it needs `sourceAccount`.
 */
function namesResource(arn: string): boolean {
  return /^arn(:[^:*?]*){3}:[^:*?]+:[^:/*?]+([:/]|$)/.test(arn);
}
