import * as aws from "@pulumi/aws";
import * as pulumi from "@pulumi/pulumi";
import { createTableInput, type TableDefinition, tableDefinitions } from "../lib/stores/dynamodb/schema.ts";
import { explainExisting } from "./failures.ts";
import { keepTables, requireKnownTables } from "./kept-tables.ts";
import { typeToken } from "./names.ts";

/** Arguments of {@link Tables}. */
export interface TablesArgs {
  /** The tables are named `<prefix>-orders` and `<prefix>-accounts`; open the store with the same prefix. */
  readonly prefix: string;
  /** Names to use instead, for one table or both; open the store with the same. @default those with the prefix */
  readonly tables?: Partial<Readonly<Record<"orders" | "accounts", string | undefined>>> | undefined;
  /** Enables deletion protection in Pulumi and in AWS. If it is false, Pulumi's is that of the parent. @default true */
  readonly protect?: boolean;
  /** Enables the stream of the orders, which wakes the function that sends their changes. @default false */
  readonly stream?: boolean;
}

/** The two DynamoDB tables of the store, with the key schema that the library expects. */
export class Tables extends pulumi.ComponentResource {
  readonly orders: aws.dynamodb.Table;
  readonly accounts: aws.dynamodb.Table;

  constructor(name: string, args: TablesArgs, options?: pulumi.ComponentResourceOptions) {
    super(typeToken("Tables"), name, {}, options);
    const { prefix, tables, protect = true, stream = false } = args;
    const definitions = tableDefinitions({ prefix, tables });
    const known = requireKnownTables(Object.values(definitions).map((table) => table.name));
    const table = (suffix: keyof typeof definitions, more: Partial<aws.dynamodb.TableArgs> = {}) => {
      const definition = definitions[suffix];
      const subject = `The table ${definition.name}`;
      const onError = explainExisting(`${name}-${suffix}`, { subject, advice: TAKEN_TABLE }, this);
      // The hook is always registered: the tables of another component, which is gone, may need it.
      const beforeDelete = keepTables();
      // An explicit false would not inherit the protection of the parent.
      const protection = protect ? { protect, hooks: { onError, beforeDelete } } : { hooks: { onError } };
      const checked = pulumi.output(known.then(() => definition.name));
      const all = { ...tableArgs(definition, protect), ...more, name: checked };
      return new aws.dynamodb.Table(`${name}-${suffix}`, all, { parent: this, ...protection });
    };

    const streamed = { streamEnabled: true, streamViewType: "NEW_IMAGE" };
    this.orders = table("orders", stream ? streamed : {});
    this.accounts = table("accounts");
    this.registerOutputs({ orders: this.orders.name, accounts: this.accounts.name });
  }
}

const TAKEN_TABLE =
  "If another stack of this AWS account and region uses it, give this stack or component another name, or other names to its tables: importing would take them from that stack. Only if it belongs to this stack, import both tables. Never delete a table that has data in it.";

export function tableArgs(definition: TableDefinition, protect: boolean): aws.dynamodb.TableArgs {
  const { TableName: name, BillingMode: billingMode, AttributeDefinitions } = createTableInput(definition);
  const { partitionKey, sortKey, index } = definition;
  const globalSecondaryIndex = index && {
    name: index.name,
    hashKey: index.partitionKey.name,
    rangeKey: index.sortKey.name,
    projectionType: "INCLUDE",
    nonKeyAttributes: [...index.included],
  };
  return {
    name,
    billingMode,
    attributes: AttributeDefinitions.map((each) => ({ name: each.AttributeName, type: each.AttributeType })),
    hashKey: partitionKey.name,
    ...(sortKey && { rangeKey: sortKey.name }),
    ...(globalSecondaryIndex && { globalSecondaryIndexes: [globalSecondaryIndex] }),
    pointInTimeRecovery: { enabled: true },
    deletionProtectionEnabled: protect,
  };
}
