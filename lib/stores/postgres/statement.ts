export interface Statement {
  readonly text: string;
  readonly values?: readonly unknown[];
  /** The columns of its rows `q`. @default all */
  readonly selected?: string;
  /** True if its text is seldom repeated, so that preparing it would save nothing. */
  readonly isRare?: boolean;
}

/** Rows as arrays: they take less time than objects. Convert each value: `pg` returns strings, other drivers numbers. */
export type Rows = readonly (readonly unknown[])[];
