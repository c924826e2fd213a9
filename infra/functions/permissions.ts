import type * as pulumi from "@pulumi/pulumi";

/** The DynamoDB calls that a function makes, by table. */
export interface TableCalls {
  readonly orders: readonly `dynamodb:${string}`[];
  readonly accounts: readonly `dynamodb:${string}`[];
}

/** Admission is one update. Rejections from memory are added to the item that was read. */
const ADMISSION = ["dynamodb:GetItem", "dynamodb:UpdateItem"] as const;

/** A list reads a table of one page with a scan, and a longer one with a query of each bucket. What warms up gets an item. */
const LIST = ["dynamodb:GetItem", "dynamodb:Query", "dynamodb:Scan"] as const;

/** Exactly the calls that each function makes. The `list` function never writes an order. */
export const PERMISSIONS = {
  list: { orders: LIST, accounts: ADMISSION },
  // HEAD of the list has no body to stream, so this function handles it and reads the first page.
  api: { orders: [...LIST, "dynamodb:UpdateItem"], accounts: ADMISSION },
} as const satisfies Record<string, TableCalls>;

/** The calls of the function that sends changes. It reads which orders wait from the index. */
export const EVENTS_PERMISSIONS = {
  orders: ["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"],
  accounts: [],
  index: ["dynamodb:Query", "dynamodb:Scan"],
} as const;

/** The calls with which Lambda reads a stream for a function. */
export const STREAM_CALLS = [
  "dynamodb:DescribeStream",
  "dynamodb:GetRecords",
  "dynamodb:GetShardIterator",
] as const;

/** The name of one of the two functions. */
export type FunctionRole = keyof typeof PERMISSIONS;

/** A statement of an IAM policy. */
export interface Statement {
  readonly Effect: "Allow";
  readonly Action: string[];
  readonly Resource: pulumi.Input<string>;
}

export function allow(actions: readonly string[], resource: pulumi.Input<string>): Statement {
  return { Effect: "Allow", Action: [...actions], Resource: resource };
}
