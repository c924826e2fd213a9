/** The program of a stack: settings, what has to be known of DNS, the rules, and the service. */
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

/** Where the API is: ends with `/v1`. */
export const baseUrl = service.baseUrl;
/** By host: its role, the record that it needs, and how far it has come. */
export const domains = service.domains;
/** What `store-orders --dynamodb` and every backup tool need to know. */
export const ordersTable = service.tables.orders.name;
export const accountsTable = service.tables.accounts.name;
export const dashboardUrl = service.dashboardUrl;
