import type { AttributeValue } from "@aws-sdk/client-dynamodb";

/** Attribute values by name: those of an item, the entries of a map, or the values of an expression. */
export type Attributes = Record<string, AttributeValue>;

/** An item, or the primary key of an item. */
export type Item = Attributes;
