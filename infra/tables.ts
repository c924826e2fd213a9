import * as aws from "@pulumi/aws";
import * as pulumi from "@pulumi/pulumi";
import { createTableInput, type TableDefinition, tableDefinitions } from "../lib/stores/dynamodb/schema.ts";
import { explainExisting } from "./failures.ts";
import { typeToken } from "./names.ts";

/** Arguments of {@link Tables}. */
export interface TablesArgs {
  /** The tables are named `<prefix>-orders` and `<prefix>-accounts`; open the store with the same prefix. */
  readonly prefix: string;
  /** Enables deletion protection in Pulumi and in AWS. @default false */
  readonly protect?: boolean;
  /** Enables the stream of the orders, which wakes the function that sends their changes. @default false */
  readonly stream?: boolean;
}

/** The two DynamoDB tables of the store, with the key schema that the library expects. */
export class Tables extends pulumi.ComponentResource {
  readonly orders: aws.dynamodb.Table;
  readonly accounts: aws.dynamodb.Table;

  constructor(
    name: string,
    { prefix, protect = false, stream = false }: TablesArgs,
    options?: pulumi.ComponentResourceOptions,
  ) {
    super(typeToken("Tables"), name, {}, options);
    const definitions = tableDefinitions({ prefix });
    const table = (
      suffix: string,
      definition: TableDefinition,
      args: Partial<aws.dynamodb.TableArgs> = {},
    ) => {
      const subject = `The table ${definition.name}`;
      const onError = explainExisting(`${name}-${suffix}`, { subject, advice: IMPORT_TABLES }, this);
      const options = { parent: this, protect, hooks: { onError } };
      return new aws.dynamodb.Table(
        `${name}-${suffix}`,
        { ...tableArgs(definition, protect), ...args },
        options,
      );
    };

    const streamed = { streamEnabled: true, streamViewType: "NEW_IMAGE" };
    this.orders = table("orders", definitions.orders, stream ? streamed : {});
    this.accounts = table("accounts", definitions.accounts);
    this.registerOutputs({ orders: this.orders.name, accounts: this.accounts.name });
  }
}

const IMPORT_TABLES = "Import both tables; deleting them would delete their data.";

/** Converts the library's description of a table into the provider's arguments. */
export function tableArgs(definition: TableDefinition, protect: boolean): aws.dynamodb.TableArgs {
  const input = createTableInput(definition);
  return {
    name: input.TableName,
    billingMode: input.BillingMode,
    attributes: input.AttributeDefinitions.map(({ AttributeName, AttributeType }) => ({
      name: AttributeName,
      type: AttributeType,
    })),
    hashKey: definition.partitionKey.name,
    ...(definition.sortKey === undefined ? {} : { rangeKey: definition.sortKey.name }),
    ...(definition.index && {
      globalSecondaryIndexes: [
        {
          name: definition.index.name,
          hashKey: definition.index.partitionKey.name,
          rangeKey: definition.index.sortKey.name,
          projectionType: "INCLUDE",
          nonKeyAttributes: [...definition.index.included],
        },
      ],
    }),
    pointInTimeRecovery: { enabled: true },
    deletionProtectionEnabled: protect,
  };
}
