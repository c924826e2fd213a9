/** Somebody else's program that deploys the service. What it passes is in the configuration. */
import * as aws from "@pulumi/aws";
import * as cloudflare from "@pulumi/cloudflare";
import * as pulumi from "@pulumi/pulumi";
import { deployStoreOrders, type SettingsInput } from "../../../infra/index.ts";
import { defineDomains } from "../../../lib/domains/index.ts";

const config = new pulumi.Config("guest");
const { domains, ...settings } =
  config.getObject<
    Omit<SettingsInput, "domains"> & { readonly domains?: Parameters<typeof defineDomains>[0] }
  >("settings") ?? {};
const options = config.getObject<pulumi.ComponentResourceOptions>("options") ?? {};
const providers = config.getBoolean("providers")
  ? [new aws.Provider("guest-aws", { region: "eu-west-1" }), new cloudflare.Provider("guest-cloudflare")]
  : [];
const resolver = new pulumi.Config("store-orders").require("resolver");
const service = await deployStoreOrders(
  config.get("name") ?? "orders",
  {
    ...settings,
    ...(domains === undefined ? {} : { domains: defineDomains(domains, { plan: "pro" }) }),
    resolver,
  },
  { ...options, providers },
);

export const ordersTable = service.tables.orders.name;
