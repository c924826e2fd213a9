/**
 * One call of a store by one of many callers. The instants come from a clock that all processes of a machine share
 * (`process.hrtime`). `invoked` is before the call, `completed.at` after it.
 */
export interface Operation<Call, Result> {
  readonly call: Call;
  readonly invoked: bigint;
  /** Missing if the result is unknown: the call took effect at some later moment, or never. */
  readonly completed?: { readonly at: bigint; readonly result: Result };
}

/** The sequential specification of an object. Pure. */
export interface Model<State, Call, Result> {
  /** The state after the call, and its result. `other` is another state that is allowed after it. */
  step(
    state: State,
    call: Call,
  ): { readonly state: State; readonly other?: State | undefined; readonly result: Result };
  /** Equal for equal states. */
  keyOf(state: State): string;
}
