import type { AttributeValue } from "@aws-sdk/client-dynamodb";

/** An item, or the key of one, in DynamoDB's own representation. */
export type Item = Record<string, AttributeValue>;
