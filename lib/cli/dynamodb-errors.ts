import { invalidInput, isStoreUnavailable, StoreUnavailableError } from "../errors.ts";
import type { Store } from "../stores/store.ts";
import { toCommandLine } from "./invocation.ts";

/** Replaces an error of the AWS client about missing configuration by one that names what is missing and the fix. */
export function explainDynamodbError(error: unknown, prefix: string): unknown {
  const cause = causeOf(error);
  if (cause?.message === "Region is missing") {
    return invalidInput(
      "AWS_REGION",
      "The region is missing. Set AWS_REGION, or choose a profile with AWS_PROFILE.",
    );
  }
  if (cause?.name === "CredentialsProviderError") {
    const hint = "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or choose a profile with AWS_PROFILE.";
    return invalidInput("AWS credentials", `${cause.message}. ${hint}`);
  }
  return isMissingTable(error)
    ? missingTables([`${prefix}-orders`, `${prefix}-accounts`], " or ", prefix)
    : error;
}

/** Reads from both tables. Throws an error that names each missing table, or what else is missing. */
export async function checkDynamodbTables({ orders, accounts }: Store, prefix: string): Promise<void> {
  const reads = { orders: orders.find(0n), accounts: accounts.find("demo") };
  const results = await Promise.allSettled(Object.values(reads));
  const missing = Object.keys(reads).filter((_, index) => {
    const result = results[index];
    return result?.status === "rejected" && isMissingTable(result.reason);
  });
  if (missing.length > 0)
    throw missingTables(
      missing.map((table) => `${prefix}-${table}`),
      " and ",
      prefix,
    );
  for (const result of results) if (result.status === "rejected") throw result.reason;
}

function missingTables(tables: readonly string[], separator: string, prefix: string): StoreUnavailableError {
  const noun = tables.length === 1 ? "The table" : "The tables";
  const verb = tables.length === 1 ? "does not exist" : "do not exist";
  return new StoreUnavailableError(
    `${noun} ${tables.join(separator)} ${verb}. Check the prefix and AWS_REGION, or create the tables with ` +
      `'${toCommandLine(["tables", "create"], { dynamodb: prefix })}'.`,
  );
}

function isMissingTable(error: unknown): boolean {
  return causeOf(error)?.name === "ResourceNotFoundException";
}

function causeOf(error: unknown): Error | undefined {
  return isStoreUnavailable(error) && error.cause instanceof Error ? error.cause : undefined;
}
