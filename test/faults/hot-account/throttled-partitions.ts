import { createHash } from "node:crypto";
import type { DynamodbProxy } from "../../support/dynamodb/proxy.ts";

/**
 * A partition takes 1,000 write units and 3,000 read units a second on AWS. An emulator on two cores does not do as
 * many, so all is a fortieth.
 */
export const SCALE = 40;
export const PARTITION_WRITES_PER_SECOND = 1_000 / SCALE;
export const PARTITION_READS_PER_SECOND = 3_000 / SCALE;

/** Unused capacity is kept for bursts: on AWS that of five minutes, here less, so that the run need not use it up. */
const BURST_SECONDS = 4;

/** A partition that is not throttled for so long is cool: longer than an account pauses. */
const COOL_MS = 6_000;

/** A new table on demand takes 4,000 writes a second. */
const PARTITIONS = 4;

/** A range of hashed partition keys, which share a capacity. */
interface Partition {
  readonly from: number;
  readonly to: number;
  writes: number;
  reads: number;
  refilledAt: number;
  heatedSince: number;
  throttledAt: number;
}

/** The hash of a partition key, from 0 to 1. */
function positionOf(item: string): number {
  return createHash("sha256").update(item).digest().readUInt32BE() / 2 ** 32;
}

/** A simulation of the partitions of a table. */
export interface ThrottledPartitions {
  readonly chooseFault: DynamodbProxy["chooseFault"];
  /** True if both items were in the same partition at an instant. */
  share(item: string, other: string, at: number): boolean;
  /** When partitions were split. */
  readonly splits: readonly number[];
  readonly throttled: () => number;
}

/**
 * Throttles the requests to each partition, as DynamoDB does: whichever item they are for. A partition that has been
 * throttled again and again for `splitAfterMs` is split in two, each with the whole capacity. An account's item is smaller than 1 KB, so
 * each request takes one unit. In every `cutEvery`th first attempt for an item other than `hotItem`, the connection
 * breaks, as it sometimes does in any network.
 */
export function throttledPartitions(
  hotItem: string,
  { cutEvery, splitAfterMs }: { readonly cutEvery: number; readonly splitAfterMs: number },
): ThrottledPartitions {
  const create = (from: number, to: number): Partition => ({
    ...{ from, to, refilledAt: Date.now(), heatedSince: 0, throttledAt: 0 },
    writes: BURST_SECONDS * PARTITION_WRITES_PER_SECOND,
    reads: BURST_SECONDS * PARTITION_READS_PER_SECOND,
  });
  let partitions = Array.from({ length: PARTITIONS }, (_, index) =>
    create(index / PARTITIONS, (index + 1) / PARTITIONS),
  );
  const splits: number[] = [];
  const layouts = [{ since: 0, partitions }];
  let quiet = 0;
  let throttled = 0;

  function refill(partition: Partition, now: number): void {
    const seconds = (now - partition.refilledAt) / 1_000;
    const add = (left: number, perSecond: number) =>
      Math.min(BURST_SECONDS * perSecond, left + seconds * perSecond);
    partition.writes = add(partition.writes, PARTITION_WRITES_PER_SECOND);
    partition.reads = add(partition.reads, PARTITION_READS_PER_SECOND);
    partition.refilledAt = now;
  }

  return {
    splits,
    throttled: () => throttled,
    share(item, other, at) {
      const layout = layouts.findLast(({ since }) => since <= at);
      const of = (position: number) =>
        layout?.partitions.find(({ from, to }) => position >= from && position < to);
      return of(positionOf(item)) === of(positionOf(other));
    },
    chooseFault({ operation, item, attempt }) {
      if (item === undefined) return "pass";
      if (item !== hotItem && attempt === 1 && ++quiet % cutEvery === 0) return "cut";
      const now = Date.now();
      const position = positionOf(item);
      const partition = partitions.find(({ from, to }) => position >= from && position < to);
      if (partition === undefined) throw new Error("Every position has a partition.");
      refill(partition, now);
      const kind = operation === "UpdateItem" ? "writes" : "reads";
      if (partition[kind] >= 1) {
        partition[kind]--;
        return "pass";
      }
      throttled++;
      if (now - partition.throttledAt > COOL_MS) partition.heatedSince = now;
      partition.throttledAt = now;
      if (now - partition.heatedSince >= splitAfterMs) {
        const { from, to } = partition;
        const middle = (from + to) / 2;
        partitions = [
          ...partitions.filter((other) => other !== partition),
          create(from, middle),
          create(middle, to),
        ];
        splits.push(now);
        layouts.push({ since: now, partitions });
      }
      return "throttle";
    },
  };
}
