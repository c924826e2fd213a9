import { Provider as AwsProvider } from "@pulumi/aws/provider.js";
import { Provider as CloudflareProvider } from "@pulumi/cloudflare/provider.js";
import type * as pulumi from "@pulumi/pulumi";

/** The options of a component that decide which providers its resources have. */
export type ProviderOptions = Pick<pulumi.ComponentResourceOptions, "parent" | "provider" | "providers">;

/**
 * The options of a lookup that is done before its component exists: the provider that the resources of the component
 * will have. Without it, the default provider would look in another account or region, or is disabled.
 */
export function lookupOptions(
  packageName: "aws" | "cloudflare",
  { parent, provider, providers = [] }: ProviderOptions,
): pulumi.InvokeOptions {
  const type = packageName === "aws" ? AwsProvider : CloudflareProvider;
  // In the order of Pulumi: `provider`, then `providers`, then those of the parent.
  const own = provider !== undefined && type.isInstance(provider) ? provider : undefined;
  const listed = Array.isArray(providers)
    ? providers.findLast((each) => type.isInstance(each))
    : providers[packageName];
  const chosen = own ?? listed;
  if (chosen !== undefined) return { provider: chosen };
  return parent === undefined ? {} : { parent };
}
