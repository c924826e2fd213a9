import { ACCESS_LOG_FORMAT } from "../../../infra/api/access-log.ts";
import { withDefaults } from "../../../infra/config/settings.ts";
import { planAlarms } from "../../../infra/observability/alarms.ts";
import { type Consumption, EVENT_BYTES, type Measured } from "./measure.ts";
import { PRICES, priceOf } from "./prices.ts";
import { QUOTAS } from "./quotas.ts";

/** The rows of a Markdown table, its header first. */
export type Rows = readonly (readonly string[])[];

/** Assumed, because it depends on the platform: the billed duration of a short request. */
export const DURATION_SECONDS = 0.02;
export const MEMORY_GB = 0.5;
/** Response bytes that a function streams without a charge. */
export const FREE_STREAM_BYTES = 6e6;

const MONTHLY_REQUESTS = [0, 1e6, 1e8];
/** Without hosts. */
const MONITORED = {
  ...{ apiName: "", stageName: "", namespace: "", certificates: [] },
  functions: { list: "", api: "" },
  tables: { orders: "", accounts: "" },
};
const ALARMS = planAlarms(MONITORED).length;
/** A rate limit is one rule. */
const WEB_ACL_RULES = 1;

export const costTables = (measured: Measured): readonly Rows[] => [
  ...[consumptionRows, millionRows, monthRows, settingRows, alternativeRows].map((rows) => rows(measured)),
  priceRows(),
];

function priceRows(): Rows {
  const rows = Object.values(PRICES).map(({ what, unit, tiers }) => {
    const scale = unit === "million" ? 1e6 : unit === "GB" && (tiers[0]?.[1] ?? 0) < 1e-3 ? 1e9 : 1;
    const prices = tiers.map(([upTo, each]) => {
      const amount = Number((each * scale).toPrecision(6));
      const price = `$${amount.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 10 })}`;
      return upTo === Infinity ? price : `${price} up to ${(upTo / 1e6).toLocaleString("en-US")} million`;
    });
    return [what, unit, prices.join(", then ")];
  });
  return [["price", "per", "us-east-1"], ...rows];
}

function consumptionRows({ operations }: Measured): Rows {
  const rows = operations.map(({ operation, calls, writeUnits, readUnits, bytes, logBytes }) =>
    [operation, calls, writeUnits, readUnits, bytes, logBytes].map((cell) => cell.toLocaleString("en-US")),
  );
  return [["operation", "calls", "write units", "read units", "response bytes", "log bytes"], ...rows];
}

/** The cost of a million requests, without what a month costs in any case. */
function millionRows(measured: Measured): Rows {
  const rows = ["cancel an order", "list 20 orders", "list 500 orders"].map((name) => {
    const parts = partsOf([[consumptionOf(measured, name), 1e6]]);
    return [name, ...Object.values(parts).map(dollars), dollars(sum(parts))];
  });
  return [["a million times", ...PARTS, "total"], ...rows];
}

/** The cost of a month, by the number of requests: half of them cancels, half of them lists of 20 orders. */
function monthRows(measured: Measured): Rows {
  const fixed = priceOf("metric", measured.metrics) + priceOf("alarm", ALARMS) + priceOf("dashboard", 1);
  const rows = MONTHLY_REQUESTS.map((requests) => {
    const parts = monthParts(measured, requests);
    const cells = [...Object.values(parts), fixed, sum(parts) + fixed].map(dollars);
    return [requests.toLocaleString("en-US"), ...cells];
  });
  return [["requests a month", ...PARTS, "metrics, alarms, dashboard", "total"], ...rows];
}

/** What each setting moves. Others cost nothing. */
function settingRows(measured: Measured): Rows {
  const { throttle, timeoutSeconds, memoryMiB } = withDefaults({});
  const { wafMonth, wafMillion, hostMonth } = optionCosts();
  const most = throttle.perSecond * 30 * 86_400;
  const line = ACCESS_LOG_FORMAT.replaceAll(/\$context\.[\w.]+/g, (name) => ACCESS_LOG_SAMPLE[name] ?? "");
  const rows = [
    [
      "`throttle.perSecond`",
      "everything",
      `${throttle.perSecond} of these requests a second, all month, are ${dollars(sum(monthParts(measured, most)))}`,
    ],
    [
      "`memoryMiB`",
      "Lambda",
      `${dollars(priceOf("duration", 1e6 * DURATION_SECONDS * MEMORY_GB))} of a million requests at ${memoryMiB}, in proportion, if they take the same time; with more memory they take less`,
    ],
    [
      "`timeoutSeconds`",
      "Lambda",
      `a list that nobody receives any more runs on: at most $${priceOf("duration", timeoutSeconds * MEMORY_GB).toFixed(3)}`,
    ],
    [
      "`accessLogs`",
      "logs",
      `${dollars(priceOf("logs", 1e6 * (line.length + EVENT_BYTES)))} for a million requests`,
    ],
    ["`logRetentionDays`", "logs", "$0.03 a month for a GB that is kept, compressed to about a fifth"],
    ["`waf`", "WAF", `${dollars(wafMonth)} a month and ${dollars(wafMillion)} for a million requests`],
    ["`domains`", "alarms", `${dollars(hostMonth)} a month for each host`],
    ["`events`", "alarms, DynamoDB, EventBridge", "$1.40 a month, and about $5 for a million changes"],
  ];
  return [["setting", "moves", "by"], ...rows];
}

/** What a line of the access log has in place of its variables. */
const ACCESS_LOG_SAMPLE: Readonly<Record<string, string>> = {
  "$context.requestTimeEpoch": "1795176060123",
  "$context.requestId": "7f3f1c5e-4a0e-4d52-9d35-8d4c1f6a2b90",
  "$context.domainName": "orders.example.com",
  "$context.httpMethod": "DELETE",
  "$context.path": "/v1/store/orders/4611686018427387904",
  "$context.status": "204",
  "$context.responseLength": "0",
  "$context.integration.timeToFirstContent": "12",
  "$context.responseLatency": "14",
  "$context.integration.responseTransferMode": "BUFFERED",
  "$context.tlsVersion": "TLSv1.3",
};

/** What a month costs behind each way to reach the functions, by the number of requests, as in `monthRows`. */
function alternativeRows(measured: Measured): Rows {
  const [header = [], ...months] = monthRows(measured);
  const bytes = consumptionOf(measured, "list 20 orders").bytes / 2;
  const gateways = {
    "REST API": (requests: number) => priceOf("gateway", requests) + priceOf("transfer", requests * bytes),
    "HTTP API": (requests: number) => priceOf("httpApi", requests) + priceOf("transfer", requests * bytes),
    "CloudFront and function URLs": (requests: number) =>
      priceOf("cloudFront", requests) + priceOf("cloudFrontTransfer", requests * bytes),
  };
  const rows = Object.entries(gateways).map(([name, price]) => [
    name,
    ...MONTHLY_REQUESTS.map((requests, index) => {
      const total = Number(months[index]?.[header.indexOf("total")]?.replaceAll(/[$,]/g, ""));
      return dollars(total - gateways["REST API"](requests) + price(requests));
    }),
  ]);
  const columns = MONTHLY_REQUESTS.map((requests) => `${requests.toLocaleString("en-US")} a month`);
  return [["in front of the functions", ...columns], ...rows];
}

/** The parts of a month of so many requests, half of them cancels, half of them lists of 20 orders. */
function monthParts(measured: Measured, requests: number) {
  return partsOf(
    ["cancel an order", "list 20 orders"].map(
      (name) => [consumptionOf(measured, name), requests / 2] as const,
    ),
  );
}

/** The cost of one list of so many bytes, in dollars, by what it consumes beyond a short list. */
export function longListCost(measured: Measured, bytes: number) {
  const { bytes: measuredBytes, readUnits } = consumptionOf(measured, "list 10,000 orders");
  const units = Math.round((readUnits / measuredBytes) * bytes);
  const requests = Math.ceil(bytes / QUOTAS.gatewayBytesPerRequest);
  const streamed = bytes - FREE_STREAM_BYTES;
  const seconds = (bytes - QUOTAS.burstBytes) / QUOTAS.streamBytesPerSecond;
  const parts = {
    gateway: priceOf("gateway", requests),
    duration: priceOf("duration", seconds * MEMORY_GB),
    reads: priceOf("read", units),
    streamed: priceOf("streamed", streamed),
    transfer: priceOf("transfer", bytes),
  };
  return {
    units,
    requests,
    seconds,
    ...parts,
    total: Object.values(parts).reduce((all, part) => all + part, 0),
  };
}

/** What the options of a stack add, in dollars: a month, and by request. */
export function optionCosts() {
  return {
    wafMonth: priceOf("webAcl", 1) + priceOf("webAclRule", WEB_ACL_RULES),
    wafMillion: priceOf("webAclRequest", 1e6),
    hostMonth: priceOf("alarm", 1),
  };
}

const PARTS = ["gateway", "Lambda", "DynamoDB", "logs", "transfer"] as const;

function partsOf(requests: readonly (readonly [Consumption, number])[]) {
  const price = (name: keyof typeof PRICES, quantity: (each: Consumption) => number) =>
    priceOf(
      name,
      requests.reduce((all, [each, count]) => all + quantity(each) * count, 0),
    );
  const streamed = ({ bytes }: Consumption) => Math.max(0, bytes - FREE_STREAM_BYTES);
  const lambda = price("invocation", () => 1) + price("duration", () => DURATION_SECONDS * MEMORY_GB);
  return {
    gateway: price("gateway", () => 1),
    Lambda: lambda + price("streamed", streamed),
    DynamoDB: price("write", (each) => each.writeUnits) + price("read", (each) => each.readUnits),
    logs: price("logs", ({ logBytes }) => logBytes),
    transfer: price("transfer", ({ bytes }) => bytes),
  } satisfies Record<(typeof PARTS)[number], number>;
}

export function consumptionOf({ operations }: Measured, name: string): Consumption {
  const found = operations.find(({ operation }) => operation === name);
  if (found === undefined) throw new Error(`Not measured: ${name}`);
  return found;
}

function sum(parts: Readonly<Record<string, number>>): number {
  return Object.values(parts).reduce((all, part) => all + part, 0);
}

export function dollars(value: number): string {
  return `$${value.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
}
