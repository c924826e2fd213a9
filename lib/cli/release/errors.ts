import { errorMessage, invalidInput, StoreUnavailableError } from "../../errors.ts";

/** Replaces an error of the AWS clients by one that names the fix, and has the exit status that belongs to it. */
export function explainReleaseError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { name, message } = error;
  if (message === "Region is missing")
    return invalidInput("AWS_REGION", "The region is missing. Set AWS_REGION.");
  if (name === "CredentialsProviderError") {
    const hint = "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or choose a profile with AWS_PROFILE.";
    return invalidInput("AWS credentials", `${message}. ${hint}`);
  }
  if (name === "PreconditionFailedException")
    return new Error(
      "Someone else has changed an alias. Check that no other release runs, then repeat this one.",
    );
  if (name === "ResourceNotFoundException")
    return invalidInput("--stack", `${message}. Pass the outputs of the last update, and check AWS_REGION.`);
  if ("code" in error && error.code === "ERR_MODULE_NOT_FOUND")
    return invalidInput(
      "release",
      "Install its clients: npm install @aws-sdk/client-lambda @aws-sdk/client-cloudwatch",
    );
  const status = (error as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode;
  if ("$metadata" in error && (status === undefined || status >= 500))
    return new StoreUnavailableError(`AWS cannot be reached: ${errorMessage(error)}`, { cause: error });
  return error;
}
