/**
 * Public list prices of AWS in us-east-1 in US dollars, without free tiers, as they were known in November 2026. Check
 * them against the price list of your region.
 */
export const PRICES_DATE = "November 2026";

/** A price for a quantity. Further quantities can be cheaper: `[quantity, price]` up to that quantity. */
export interface Price {
  readonly what: string;
  readonly unit: string;
  readonly tiers: readonly (readonly [upTo: number, each: number])[];
}

const flat = (what: string, unit: string, each: number): Price => ({ what, unit, tiers: [[Infinity, each]] });

const MILLION = 1e6;

export const PRICES = {
  gateway: {
    what: "API Gateway (REST), requests",
    unit: "million",
    tiers: [
      [333 * MILLION, 3.5 / MILLION],
      [1_000 * MILLION, 2.8 / MILLION],
      [20_000 * MILLION, 2.38 / MILLION],
      [Infinity, 1.51 / MILLION],
    ],
  },
  httpApi: {
    what: "API Gateway (HTTP), requests",
    unit: "million",
    tiers: [
      [300 * MILLION, 1 / MILLION],
      [Infinity, 0.9 / MILLION],
    ],
  },
  cloudFront: flat("CloudFront, HTTPS requests", "million", 1 / MILLION),
  cloudFrontTransfer: flat("CloudFront, transfer to the internet", "GB", 0.085 / 1e9),
  invocation: flat("Lambda, requests", "million", 0.2 / MILLION),
  duration: flat("Lambda, duration on arm64", "GB-second", 0.000_013_333_4),
  streamed: flat("Lambda, streamed bytes beyond 6 MB of a response", "GB", 0.008 / 1e9),
  write: flat("DynamoDB, write units", "million", 0.625 / MILLION),
  read: flat("DynamoDB, read units", "million", 0.125 / MILLION),
  storage: flat("DynamoDB, storage with recovery", "GB and month", 0.45),
  logs: flat("CloudWatch, log data", "GB", 0.5 / 1e9),
  metric: flat("CloudWatch, custom metrics", "metric and month", 0.3),
  alarm: flat("CloudWatch, alarms", "alarm and month", 0.1),
  dashboard: flat("CloudWatch, dashboard", "month", 3),
  webAcl: flat("WAF, web ACL", "month", 5),
  webAclRule: flat("WAF, rule", "rule and month", 1),
  webAclRequest: flat("WAF, requests", "million", 0.6 / MILLION),
  transfer: flat("Data transfer to the internet", "GB", 0.09 / 1e9),
} as const satisfies Record<string, Price>;

export function priceOf(name: keyof typeof PRICES, quantity: number): number {
  let from = 0;
  let sum = 0;
  for (const [upTo, each] of PRICES[name].tiers) {
    sum += Math.max(0, Math.min(quantity, upTo) - from) * each;
    from = upTo;
  }
  return sum;
}
