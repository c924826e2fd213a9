/** A program that deploys the whole service under another name, and a custom domain in a known zone. */

import { CustomDomain, functionCode, StoreOrders, withDefaults } from "../../../infra/index.ts";
import { defineDomains } from "../../../lib/domains/index.ts";

const domains = defineDomains({ primary: "Orders.example.com" }, { plan: "pro" });
const settings = withDefaults({ plan: "pro", domains, protect: true, memoryMiB: 256 });
const orders = new StoreOrders("shop", { settings, code: await functionCode() });
const { restApi, stage } = orders.api;
const domain = new CustomDomain("shop-front", {
  host: "orders.example.com",
  dns: { provider: "cloudflare", zoneId: "zone", comment: "managed by shop", routing: "managed" },
  restApi: restApi.id,
  stageName: stage.stageName,
});

export const baseUrl = orders.baseUrl;
export const state = domain.state;
