import type { DynamodbProxy } from "../../support/dynamodb/proxy.ts";

/**
 * What an item takes in a second is 1,000 write units and 3,000 read units on AWS. An emulator on two cores does not do
 * as many, so all is a fortieth.
 */
export const SCALE = 40;
export const ITEM_WRITES_PER_SECOND = 1_000 / SCALE;
export const ITEM_READS_PER_SECOND = 3_000 / SCALE;

/**
 * Throttles the requests to each item, as DynamoDB does with a partition that has one hot item. An account's item is
 * smaller than 1 KB, so each request takes one unit. In every `cutEvery`th request of another item, the connection
 * breaks at the first attempt, as it sometimes does in any network.
 */
export function throttledItems(
  hotItem: string,
  cutEvery: number,
): { readonly chooseFault: DynamodbProxy["chooseFault"]; readonly mostWritesInASecond: () => number } {
  const used = new Map<string, { second: number; writes: number; reads: number }>();
  let quiet = 0;
  let most = 0;
  return {
    chooseFault({ operation, item, attempt }) {
      if (item === undefined) return "pass";
      if (item !== hotItem && attempt === 1 && ++quiet % cutEvery === 0) return "cut";
      const second = Math.floor(Date.now() / 1_000);
      const known = used.get(item);
      const current = known?.second === second ? known : { second, writes: 0, reads: 0 };
      used.set(item, current);
      if (operation === "UpdateItem") current.writes++;
      else current.reads++;
      if (item === hotItem) most = Math.max(most, current.writes);
      const isThrottled = current.writes > ITEM_WRITES_PER_SECOND || current.reads > ITEM_READS_PER_SECOND;
      return isThrottled ? "throttle" : "pass";
    },
    mostWritesInASecond: () => most,
  };
}
