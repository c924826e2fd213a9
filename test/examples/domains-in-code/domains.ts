/** The hosts of the project. They are validated here, and served and deployed from here. */
import { defineDomains } from "store-orders/domains";

export const plan = "pro";

export const domains = defineDomains(
  {
    primary: "orders.example.com",
    aliases: ["api.example.com"],
    redirects: [
      { from: "example.com", to: "orders.example.com" },
      { from: "www.example.com", to: "orders.example.com" },
      { from: "bücher.example.com", to: "orders.example.com" },
    ],
  },
  { plan },
);
