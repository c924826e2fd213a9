/** What each directory may import from the project, besides itself. */
export const ALLOWED_IMPORTS: Readonly<Record<string, readonly string[]>> = {
  "lib/core": [],
  "lib/orders": ["lib/core"],
  "lib/plans": ["lib/core"],
  "lib/accounts": ["lib/core", "lib/plans", "lib/orders/store-operation.ts"],
  "lib/domains": ["lib/core", "lib/plans"],
  "lib/http": ["lib/core", "lib/orders", "lib/plans", "lib/accounts", "lib/domains"],
  "lib/stores": ["lib/core", "lib/orders", "lib/plans", "lib/accounts"],
  "lib/node": ["lib/core", "lib/http", "lib/domains"],
  "lib/metrics": ["lib/http", "lib/node/listen.ts", "lib/orders", "lib/accounts"],
  "lib/lambda": ["lib/core", "lib/http"],
  "lib/client": ["lib/core", "lib/http/errors.ts", "lib/orders"],
  "lib/console": [
    "lib/core",
    "lib/http/errors.ts",
    "lib/orders",
    "lib/plans",
    "lib/accounts",
    "lib/domains",
    "lib/stores/store.ts",
  ],
  "lib/cli": ["lib"],
  "lib/index.ts": [
    "lib/core",
    "lib/http/errors.ts",
    "lib/orders",
    "lib/plans",
    "lib/accounts",
    "lib/domains",
    "lib/stores/store.ts",
  ],
  infra: ["lib"],
};

/** The packages and Node modules that each file or directory may import. The first match counts. */
export const ALLOWED_PACKAGES: Readonly<Record<string, readonly RegExp[]>> = {
  "lib/accounts/hash-key.ts": [/^@noble\/hashes\//],
  "lib/orders/order-schema.ts": [/^zod$/],
  "lib/domains": [/^(zod|tldts)$/, /^node:(url|net)$/],
  "lib/stores/contract": [/^node:assert\/strict$/],
  "lib/stores": [
    /^node:(fs|path|sqlite|timers\/promises|stream\/consumers|crypto)$/,
    /^pg$/,
    /^@aws-sdk\/client-dynamodb$/,
    /^@smithy\//,
  ],
  "lib/node/dns-resolver.ts": [/^dns-packet$/, /^node:/],
  "lib/node": [/^node:/],
  "lib/metrics": [/^prom-client$/, /^node:(http|net)$/],
  "lib/console": [
    /^(hono|@hono\/node-server)(\/|$)/,
    /^yaml$/,
    /^node:(crypto|fs|fs\/promises|http|net|path|timers\/promises)$/,
  ],
  "lib/cli": [/./],
  infra: [/./],
};
