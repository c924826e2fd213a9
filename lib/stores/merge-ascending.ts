/** A page of rows, ascending, and from where to read the next one; none: this is the last. */
export interface SourcePage<Row, From> {
  readonly rows: readonly Row[];
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
  rankOf: (row: Row) => bigint,
): AsyncGenerator<readonly Row[]> {
  const sources = reads.map((read) => openSource(read, rankOf));
  for (;;) {
    await Promise.all(sources.map((source) => source.fill()));
    // A page that is not here yet begins above its source's last row, so up to the least of these all rows are here.
    const bound = least(sources.flatMap((source) => source.bound() ?? []));
    const ready = sources.flatMap((source) => source.take(bound));
    yield ready.sort((a, b) => (a.rank < b.rank ? -1 : 1)).map(({ row }) => row);
    if (bound === undefined) return;
  }
}

interface Ranked<Row> {
  readonly rank: bigint;
  readonly row: Row;
}

function openSource<Row, From>(read: ReadPage<Row, From>, rankOf: (row: Row) => bigint) {
  let rows: Ranked<Row>[] = [];
  let ahead: ReturnType<typeof read> | undefined = handled(read(undefined));
  return {
    async fill() {
      while (rows.length === 0 && ahead !== undefined) {
        const page = await ahead;
        ahead = page.next === undefined ? undefined : handled(read(page.next));
        rows = page.rows.map((row) => ({ rank: rankOf(row), row }));
      }
    },
    /** The last rank that is here; none where nothing follows it. */
    bound: () => (ahead === undefined ? undefined : rows.at(-1)?.rank),
    take(bound: bigint | undefined) {
      const above = bound === undefined ? -1 : rows.findIndex(({ rank }) => rank > bound);
      return rows.splice(0, above === -1 ? rows.length : above);
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
