import { formatCount } from "../text.ts";

/** The size of the largest order in DynamoDB in bytes, with 20 digits in each identifier and the marks of its events. */
export const MAX_ITEM_BYTES = 256;
const READ_UNIT_BYTES = 4096;

/** The most read units that counting so many orders takes in DynamoDB, besides one for each bucket. */
export function readUnitsOfCount(orders: number): number {
  return Math.ceil((orders * MAX_ITEM_BYTES) / READ_UNIT_BYTES);
}

/** Says what a count costs: by the number of orders of the last one, otherwise for a million. */
export function explainCountCost(lastCount: number | undefined): string {
  const orders = lastCount ?? 1_000_000;
  const units = formatCount(readUnitsOfCount(orders));
  const subject =
    lastCount === undefined ? "for a million orders" : `for the ${formatCount(orders)} of the last count`;
  return `Counting reads every order from DynamoDB: at most ${units} read units ${subject}, and at least one for each bucket.`;
}
