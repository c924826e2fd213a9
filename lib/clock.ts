/** A moment in milliseconds since the Unix epoch, UTC. */
export type Instant = number;

/** Returns the current instant. Every rule takes its time from a clock or as an argument. */
export type Clock = () => Instant;

/** The machine's own clock. */
export const systemClock: Clock = () => Date.now();

/** The longest delay of a timer, in milliseconds. A timer with a longer one fires at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1;
