/** `npm run deploy` deploys the API under the hosts in domains.ts. It needs the Pulumi CLI, and AWS credentials. */
import * as pulumi from "@pulumi/pulumi";
import { deployStoreOrders } from "store-orders/infra";
import { domains, plan } from "./domains.ts";

/** `domainStatus`: per host its role, its DNS record and its state. `store-orders domains check --stack` reads it. */
export const { baseUrl, domainStatus } = await deployStoreOrders(`orders-${pulumi.getStack()}`, {
  plan,
  domains,
});
