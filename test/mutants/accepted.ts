import type { Change } from "./sampler.ts";

/** A mutant that no test can notice, or only one that looks at the implementation. */
export interface Accepted extends Change {
  readonly reason: string;
}

/** `from` is the line of the source and `to` what the mutant makes of it, as `npm run test:mutants` prints them. */
export const ACCEPTED: readonly Accepted[] = [
  {
    file: "lib/orders/lifecycle.ts",
    from: "return `The order is ${status}; only ${allowed.join(\" or \")} orders accept '${event}'.`;",
    to: "return `The order is ${status}; only ${allowed.join(\"\")} orders accept '${event}'.`;",
    reason: "Each event is allowed in one status.",
  },
  {
    file: "lib/orders/orders.ts",
    from: "return BigInt(now - EPOCH) * 4096n + BigInt(Math.floor(Math.random() * 4096));",
    to: "return BigInt(now - EPOCH) * 4096n - BigInt(Math.floor(Math.random() * 4096));",
    reason: "The identifiers are as unique, and ascend as well.",
  },
  {
    file: "lib/orders/import.ts",
    from: "if (head.length === 0) return tail;",
    to: "if (false) return tail;",
    reason: "It saves a copy.",
  },
  {
    file: "lib/orders/int64.ts",
    from: "if (source === undefined) return value;",
    to: "if (false) return value;",
    reason: "Node always gives the source of a number; older browsers do not.",
  },
];
