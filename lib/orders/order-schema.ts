import * as z from "zod";
import { withoutEval } from "../core/schema.ts";
import { ORDER_FIELDS, type OrderRecord } from "./order.ts";
import { type JsonRecord, toRecord } from "./wire.ts";

/** An order record as a zod schema: accepts integers as `number` or `bigint`, and returns an `OrderRecord`. */
export const orderSchema: z.ZodType<OrderRecord> = withoutEval(() =>
  z
    .strictObject({
      id: field("id"),
      petId: field("petId").optional(),
      quantity: field("quantity").optional(),
      shipDate: field("shipDate").optional(),
      complete: field("complete").optional(),
    })
    .transform((record) => toRecord(record as JsonRecord)),
);

function field(name: keyof typeof ORDER_FIELDS) {
  const { validate, description } = ORDER_FIELDS[name];
  return z
    .custom<unknown>((value) => validate(value) === undefined, { error: ({ input }) => validate(input) })
    .describe(description);
}
