/**
 * One call of a store by one of many callers. The instants are of a clock that all processes of a machine share
 * (`process.hrtime`), the first one from before the call, the second one from after it.
 */
export interface Operation<Call, Reply> {
  readonly call: Call;
  readonly invoked: bigint;
  /** Absent where nobody knows what became of the call: it took effect at some later moment, or never. */
  readonly answered?: { readonly at: bigint; readonly answer: Reply };
}

/** What an object does when it is called by one caller at a time. Pure. */
export interface Model<State, Call, Reply> {
  step(state: State, call: Call): { readonly state: State; readonly answer: Reply };
  /** The same text for states that are the same. */
  keyOf(state: State): string;
}
