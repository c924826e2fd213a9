/** The Pulumi program of the staging and production stacks: see infra/README.md#deploy. */
import * as pulumi from "@pulumi/pulumi";
import { readSettings } from "./config/settings.ts";
import { preflight } from "./domains/preflight.ts";
import { functionCode } from "./functions/code.ts";
import { enforcePolicies } from "./policy/enforce.ts";
import { StoreOrders } from "./store-orders.ts";

const settings = readSettings();
enforcePolicies(settings);
const hosts = await preflight(settings);
const code = await functionCode();

const service = new StoreOrders(`${pulumi.getProject()}-${pulumi.getStack()}`, { settings, hosts, code });

/** The address of the API; ends with `/v1`. */
export const baseUrl = service.baseUrl;
/** By host: its role, its state with the reason and what to do next, and the DNS record that it needs. */
export const domains = service.domains;
export const ordersTable = service.tables.orders.name;
export const accountsTable = service.tables.accounts.name;
export const dashboardUrl = service.dashboardUrl;
