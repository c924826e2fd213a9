/** A page of rows, ascending by rank, and from where to read the next one; none: this is the last. */
export interface SourcePage<Row, From> {
  readonly ranks: BigInt64Array;
  row(index: number): Row;
  readonly next: From | undefined;
}

/** Reads a page of an ascending source: the first one, or the one from where another left off. */
export type ReadPage<Row, From> = (from: From | undefined) => Promise<SourcePage<Row, From>>;

/**
 * Merges ascending sources into one ascending stream. Sources are read at the same time, each one page ahead of
 * what is being merged and no further, so nothing more is read while nobody asks.
 */
export async function* mergeAscending<Row, From>(
  reads: readonly ReadPage<Row, From>[],
): AsyncGenerator<readonly Row[]> {
  const sources = reads.map(openSource);
  for (;;) {
    await Promise.all(sources.map((source) => source.fill()));
    // What a source has not shown yet lies above what it shows, so up to the least of these bounds all rows are here.
    const bound = least(sources.flatMap((source) => source.bound() ?? []));
    const ready = sources.flatMap((source) => source.take(bound));
    yield ready.sort((a, b) => (a.rank < b.rank ? -1 : 1)).map(({ row }) => row);
    if (bound === undefined) return;
  }
}

/** Rows of a source that are looked at in a turn: all that wait as rows, however many wait in their pages. */
const LOOKAHEAD = 32;

interface Ranked<Row> {
  readonly rank: bigint;
  readonly row: Row;
}

function openSource<Row, From>(read: ReadPage<Row, From>) {
  let page: SourcePage<Row, From> | undefined;
  let position = 0;
  let ahead: ReturnType<typeof read> | undefined = handled(read(undefined));
  return {
    async fill() {
      while (position === (page?.ranks.length ?? 0) && ahead !== undefined) {
        page = await ahead;
        position = 0;
        ahead = page.next === undefined ? undefined : handled(read(page.next));
      }
    },
    /** The last rank that the source shows; none where nothing follows it. */
    bound() {
      const shown = page?.ranks.subarray(position, position + LOOKAHEAD);
      const more = ahead !== undefined || (page !== undefined && position + LOOKAHEAD < page.ranks.length);
      return more ? shown?.at(-1) : undefined;
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

// A page that was read ahead and that nobody asks for any more may fail without anybody being told.
function handled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}

function least(ranks: readonly bigint[]): bigint | undefined {
  return ranks.reduce<bigint | undefined>(
    (found, rank) => (found === undefined || rank < found ? rank : found),
    undefined,
  );
}
