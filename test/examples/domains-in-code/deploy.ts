/** A Pulumi program that deploys the API under the hosts in domains.ts. */
import { enforcePolicies, functionCode, preflight, StoreOrders, withDefaults } from "store-orders/infra";
import { domains as mapping, plan } from "./domains.ts";

const settings = withDefaults({ plan, domains: mapping });
enforcePolicies(settings);
const hosts = await preflight(settings);
const orders = new StoreOrders("orders", { settings, hosts, code: await functionCode() });

export const baseUrl = orders.baseUrl;
/** Per host: its role, the DNS record that it needs, and its state. `store-orders domains check --stack` reads it. */
export const domains = orders.domains;
