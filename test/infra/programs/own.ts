/** A program of somebody's own: the whole service under another name, and a domain beside it in a zone they know. */
import { CustomDomain, functionCode, StoreOrders, withDefaults } from "../../../infra/components.ts";

const settings = withDefaults({ protect: true, memoryMiB: 256 });
const orders = new StoreOrders("shop", { settings, code: await functionCode() });
const { restApi, stage } = orders.api;
const domain = new CustomDomain("shop-front", {
  host: "orders.example.com",
  dns: { at: "cloudflare", zoneId: "zone", comment: "the shop's", route: "managed" },
  restApi: restApi.id,
  stageName: stage.stageName,
});

export const baseUrl = orders.baseUrl;
export const state = domain.state;
