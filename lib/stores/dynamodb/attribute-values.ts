import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import type { Attributes } from "./item.ts";

/** Converts an integer to an attribute value. */
export function numberValue(value: number): AttributeValue {
  return { N: String(value) };
}

/** Converts integers to attribute values. Absent ones are omitted. */
export function numberValues(values: Readonly<Record<string, number | undefined>>): Attributes {
  const present = Object.entries(values).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, numberValue(value)] as const],
  );
  return Object.fromEntries(present);
}

/** Reads a number; NaN if there is none. */
export function numberOf(value: AttributeValue | undefined): number {
  return Number(value?.N);
}

/** Reads a text; empty if there is none. */
export function textOf(value: AttributeValue | undefined): string {
  return value?.S ?? "";
}
