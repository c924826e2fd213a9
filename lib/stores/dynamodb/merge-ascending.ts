/** A page of rows, ascending by rank. `next` is the start of the next page; `undefined` for the last page. */
export interface SourcePage<Row, From> {
  readonly ranks: BigInt64Array;
  row(index: number): Row;
  readonly next: From | undefined;
}

/** Reads a page of an ascending source: the first one if `from` is `undefined`. */
export type ReadPage<Row, From> = (from: From | undefined) => Promise<SourcePage<Row, From>>;

/**
 * Merges ascending sources into one ascending stream. Sources are read in parallel, each at most one page ahead, so
 * reading stops while the consumer does not ask for more.
 */
export async function* mergeAscending<Row, From>(
  reads: readonly ReadPage<Row, From>[],
): AsyncGenerator<readonly Row[]> {
  const sources = reads.map(openSource);
  for (;;) {
    await Promise.all(sources.map((source) => source.fill()));
    // Further rows of a source are above its bound. So up to the least bound, all rows have been read.
    const bound = least(sources.flatMap((source) => source.bound() ?? []));
    const ready = sources.flatMap((source) => source.take(bound));
    yield ready.sort((a, b) => (a.rank < b.rank ? -1 : 1)).map(({ row }) => row);
    if (bound === undefined) return;
  }
}

/** The number of rows per source that one step considers. It limits the rows in memory that are not packed in pages. */
const LOOKAHEAD = 32;

interface Ranked<Row> {
  readonly rank: bigint;
  readonly row: Row;
}

function openSource<Row, From>(read: ReadPage<Row, From>) {
  let page: SourcePage<Row, From> | undefined;
  let position = 0;
  let ahead: ReturnType<typeof read> | undefined = ignoreUnused(read(undefined));
  return {
    async fill() {
      while (position === (page?.ranks.length ?? 0) && ahead !== undefined) {
        page = await ahead;
        position = 0;
        ahead = page.next === undefined ? undefined : ignoreUnused(read(page.next));
      }
    },
    /** The rank up to which all rows of this source have been considered; `undefined` at its end. */
    bound() {
      const visible = page?.ranks.subarray(position, position + LOOKAHEAD);
      const more = ahead !== undefined || (page !== undefined && position + LOOKAHEAD < page.ranks.length);
      return more ? visible?.at(-1) : undefined;
    },
    take(bound: bigint | undefined): readonly Ranked<Row>[] {
      const rows: Ranked<Row>[] = [];
      for (; page !== undefined && position < page.ranks.length; position++) {
        const rank = page.ranks[position] ?? 0n;
        if (bound !== undefined && rank > bound) break;
        rows.push({ rank, row: page.row(position) });
      }
      return rows;
    },
  };
}

// A page that was read ahead but is no longer needed may fail without an unhandled rejection.
function ignoreUnused<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}

function least(ranks: readonly bigint[]): bigint | undefined {
  return ranks.reduce<bigint | undefined>(
    (found, rank) => (found === undefined || rank < found ? rank : found),
    undefined,
  );
}
