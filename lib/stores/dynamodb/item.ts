import type { AttributeValue } from "@aws-sdk/client-dynamodb";

/** An item, or the key of an item, as DynamoDB represents it. */
export type Item = Record<string, AttributeValue>;
