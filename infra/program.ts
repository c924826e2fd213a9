/** The Pulumi program of the staging and production stacks: see infra/README.md#deploy. */
import { requireSettings } from "./config/missing-settings.ts";
import { explainRejected, readSettings } from "./config/settings.ts";
import { ownerOf } from "./names.ts";
import { deploySettings } from "./store-orders.ts";

const settings = readSettings();
await requireSettings();
const { project, stack } = ownerOf(settings);
const service = await deploySettings(`${project}-${stack}`, settings).catch(explainRejected);

export const baseUrl = service.baseUrl;
export const domains = service.domainStatus;
export const ordersTable = service.tables.orders.name;
export const accountsTable = service.tables.accounts.name;
export const dashboardUrl = service.dashboardUrl;
