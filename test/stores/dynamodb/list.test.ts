import fc from "fast-check";
import { expect, onTestFinished, test, vi } from "vitest";
import { collect } from "../../../lib/stores/contract/contract-case.ts";
import { createList, mergeAscending, type ReadPage } from "../../../lib/stores/dynamodb/list.ts";
import type { TableClient } from "../../../lib/stores/dynamodb/table.ts";

const ranks = fc.uniqueArray(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), { maxLength: 60 });

/** A source with pages of a fixed length. Its last page may be empty, as in DynamoDB. */
function pages(rows: readonly bigint[], length: number): ReadPage<number> {
  return async (from = 0) => {
    const page = rows.slice(from, from + length);
    return {
      ranks: BigInt64Array.from(page),
      row: (index) => String(page[index]),
      next: page.length === length ? from + length : undefined,
    };
  };
}

test("ascending sources are merged into one ascending stream that contains every row once", async () => {
  await fc.assert(
    fc.asyncProperty(
      ranks,
      fc.integer({ min: 1, max: 7 }),
      fc.integer({ min: 1, max: 5 }),
      async (all, sources, length) => {
        const sorted = all.toSorted((a, b) => (a < b ? -1 : 1));
        // Neighbours are in the same source or in different ones.
        const shares = Array.from({ length: sources }, (_, source) =>
          sorted.filter((rank) => Number(BigInt.asUintN(16, rank)) % sources === source),
        );
        const merged = await collect(mergeAscending(shares.map((share) => pages(share, length))));
        expect(merged.flat()).toEqual(sorted.map(String));
      },
    ),
  );
});

test("a page that was read ahead may fail when the consumer has stopped", async () => {
  const unhandled: unknown[] = [];
  const note = (error: unknown) => unhandled.push(error);
  process.on("unhandledRejection", note);
  const failing: ReadPage<number> = async (from) => {
    if (from !== undefined) throw new RangeError("aborted");
    return { ranks: BigInt64Array.of(1n), row: () => "1", next: 1 };
  };
  const merged = mergeAscending([failing]);
  expect(await merged.next()).toEqual({ done: false, value: ["1"] });
  await merged.return(undefined);
  await new Promise(setImmediate);
  process.off("unhandledRejection", note);
  expect(unhandled).toEqual([]);
});

test("the stream fails with the error of a failed source", async () => {
  const failing: ReadPage<number> = async (from) => {
    if (from !== undefined) throw new RangeError("gone");
    return { ranks: BigInt64Array.of(1n), row: () => "1", next: 1 };
  };
  const merged = mergeAscending([failing, pages([0n, 2n], 10)]);
  expect(await merged.next()).toEqual({ done: false, value: ["0", "1"] });
  await expect(merged.next()).rejects.toThrow(RangeError);
});

test("lists that wait for others end when their time is over, and not that of each one before them", async () => {
  const timeouts: AbortController[] = [];
  const timeout = vi.spyOn(AbortSignal, "timeout").mockImplementation(() => {
    const controller = new AbortController();
    timeouts.push(controller);
    return controller.signal;
  });
  onTestFinished(() => timeout.mockRestore());
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const list = createList({ read: () => aborted } as Partial<TableClient> as TableClient);
  const lists = Array.from({ length: 100 }, () => expect(list().next()).rejects.toThrow("time"));
  expect(timeouts).toHaveLength(100);
  reject(new Error("time"));
  await Promise.all(lists);
});
