import type * as pulumi from "@pulumi/pulumi";

/** The calls of DynamoDB that a function makes, by table. */
export interface TableCalls {
  readonly orders: readonly `dynamodb:${string}`[];
  readonly accounts: readonly `dynamodb:${string}`[];
}

/** Admission is one update; its refusal is explained by the item, which is read where the update did not return it. */
const ADMISSION = ["dynamodb:GetItem", "dynamodb:UpdateItem"] as const;

/** What each function does, and nothing beyond it. The list never writes an order. */
export const PERMISSIONS = {
  list: { orders: ["dynamodb:GetItem", "dynamodb:Query"], accounts: ADMISSION },
  // A HEAD of the list has no body to stream, so it is answered here, and reads the first page.
  api: { orders: ["dynamodb:GetItem", "dynamodb:Query", "dynamodb:UpdateItem"], accounts: ADMISSION },
} as const satisfies Record<string, TableCalls>;

/** One of the two functions. */
export type FunctionRole = keyof typeof PERMISSIONS;

/** A statement of a policy: calls that are allowed on resources. */
export interface Statement {
  readonly Effect: "Allow";
  readonly Action: string[];
  readonly Resource: pulumi.Input<string>;
}

/** The statements by which a function may make its calls to the tables. */
export function tableStatements(
  calls: TableCalls,
  tableArns: { readonly orders: pulumi.Input<string>; readonly accounts: pulumi.Input<string> },
): readonly Statement[] {
  return (["orders", "accounts"] as const).map((table) => ({
    Effect: "Allow",
    Action: [...calls[table]],
    Resource: tableArns[table],
  }));
}
