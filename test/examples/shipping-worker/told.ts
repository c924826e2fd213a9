/** What somebody was told of an order after trying to move it: the status that it has from now on. */
export interface Told {
  readonly id: string;
  readonly status: string;
}
