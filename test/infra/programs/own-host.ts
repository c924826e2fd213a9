/** Somebody else's program that gives an API of its own a host, without the service. The settings are in the configuration. */
import * as pulumi from "@pulumi/pulumi";
import { CustomDomain, preflight, type SettingsInput, withDefaults } from "../../../infra/index.ts";
import { defineDomains } from "../../../lib/domains/index.ts";

const config = new pulumi.Config("own-host");
const host = config.require("host");
const settings = withDefaults({
  ...config.getObject<Omit<SettingsInput, "domains">>("settings"),
  plan: "pro",
  domains: defineDomains({ primary: host }, { plan: "pro" }),
  resolver: new pulumi.Config("store-orders").require("resolver"),
});
const [plan] = await preflight(settings);
if (plan === undefined) throw new Error(`The host ${host} was not planned.`);
const { status } = new CustomDomain("hello", { host, dns: plan.dns, restApi: "api1", stageName: "live" });

export const state = status.state;
