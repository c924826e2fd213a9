/** Every entry point, with the first peer dependency that it needs. */
export const ENTRIES: Readonly<Record<string, string | undefined>> = {
  "store-orders": undefined,
  "store-orders/orders": undefined,
  "store-orders/plans": undefined,
  "store-orders/accounts": undefined,
  "store-orders/domains": undefined,
  "store-orders/http": undefined,
  "store-orders/memory": undefined,
  "store-orders/sqlite": undefined,
  "store-orders/dynamodb": "@aws-sdk/client-dynamodb",
  "store-orders/node": undefined,
  "store-orders/metrics": "prom-client",
  "store-orders/lambda": undefined,
  "store-orders/client": undefined,
  "store-orders/infra": "@pulumi/aws",
  "store-orders/contract": undefined,
};
