/** A program that deploys several services, then hosts of their own. They are in the configuration. */
import * as aws from "@pulumi/aws";
import * as pulumi from "@pulumi/pulumi";
import { CustomDomain, deployStoreOrders, type SettingsInput } from "../../../infra/index.ts";
import { defineDomains } from "../../../lib/domains/index.ts";

export interface Service extends Omit<SettingsInput, "domains"> {
  readonly name: string;
  readonly primary?: string;
  /** @default that of the stack */
  readonly region?: aws.Region;
  /** The program goes on without it. */
  readonly isRejected?: boolean;
}

export interface OwnHost {
  readonly host: string;
}

const config = new pulumi.Config("components");
const services = config.requireObject<readonly Service[]>("services");
const resolver = new pulumi.Config("store-orders").require("resolver");

async function deploy({ name, primary, region, isRejected = false, ...settings }: Service) {
  const domains = defineDomains(primary === undefined ? {} : { primary }, { plan: "pro" });
  const options = region && { provider: new aws.Provider(`${name}-${region}`, { region }) };
  const deployed = deployStoreOrders(name, { ...settings, plan: "pro", domains, resolver }, options);
  if (!isRejected) return deployed;
  const reason: unknown = await deployed.catch((error: unknown) => error);
  if (!(reason instanceof pulumi.RunError)) throw new Error(`${name} was deployed.`);
  return undefined;
}

const deployed = config.getBoolean("together") ? await Promise.all(services.map(deploy)) : [];
for (const service of config.getBoolean("together") ? [] : services) deployed.push(await deploy(service));
for (const { host } of config.getObject<readonly OwnHost[]>("hosts") ?? []) {
  const dns = { provider: "cloudflare", zoneId: "zone", comment: "mine", routing: "managed" } as const;
  new CustomDomain("hello", { host, dns, restApi: "api1", stageName: "live" });
}
