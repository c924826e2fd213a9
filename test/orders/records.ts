import fc from "fast-check";
import type { OrderRecord } from "../../lib/orders/order.ts";

const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });

export const record = fc.record(
  {
    id: int64,
    petId: int64,
    quantity: fc.nat(),
    shipDate: fc
      .date({
        min: new Date("0001-01-01T00:00:00Z"),
        max: new Date("9999-12-31T23:59:59Z"),
        noInvalidDate: true,
      })
      .map((date) => date.toISOString()),
    complete: fc.boolean(),
  },
  { requiredKeys: ["id"], noNullPrototype: true },
) as fc.Arbitrary<OrderRecord>;
