/** What a process learned about an order when it tried to ship or cancel it. */
export interface Result {
  readonly id: string;
  /** The status of the order from then on. */
  readonly status: string;
}
