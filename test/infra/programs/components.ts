/** A program that deploys several services, one after another. They are in the configuration. */
import * as aws from "@pulumi/aws";
import * as pulumi from "@pulumi/pulumi";
import { deployStoreOrders, type SettingsInput } from "../../../infra/index.ts";
import { defineDomains } from "../../../lib/domains/index.ts";

interface Service extends Omit<SettingsInput, "domains"> {
  readonly name: string;
  readonly primary?: string;
  /** @default that of the stack */
  readonly region?: aws.Region;
}

const services = new pulumi.Config("components").requireObject<readonly Service[]>("services");
const resolver = new pulumi.Config("store-orders").require("resolver");
for (const { name, primary, region, ...settings } of services) {
  const domains = defineDomains(primary === undefined ? {} : { primary }, { plan: "pro" });
  const options = region && { provider: new aws.Provider(`${name}-${region}`, { region }) };
  await deployStoreOrders(name, { ...settings, plan: "pro", domains, resolver }, options);
}
