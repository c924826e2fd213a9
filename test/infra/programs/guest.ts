/** Somebody else's program that deploys the service. What it passes is in the configuration. */
import * as pulumi from "@pulumi/pulumi";
import { deployStoreOrders, type SettingsInput } from "../../../infra/index.ts";
import { defineDomains } from "../../../lib/domains/index.ts";

const config = new pulumi.Config("guest");
const { domains, ...settings } =
  config.getObject<
    Omit<SettingsInput, "domains"> & { readonly domains?: Parameters<typeof defineDomains>[0] }
  >("settings") ?? {};
const options = config.getObject<pulumi.ComponentResourceOptions>("options") ?? {};
const resolver = new pulumi.Config("store-orders").require("resolver");
const service = await deployStoreOrders(
  config.get("name") ?? "orders",
  {
    ...settings,
    ...(domains === undefined ? {} : { domains: defineDomains(domains, { plan: "pro" }) }),
    resolver,
  },
  options,
);

export const ordersTable = service.tables.orders.name;
