/** A moment in milliseconds since the Unix epoch, UTC. */
export type Instant = number;

/** Tells the present instant. Every rule takes its time from one of these or as an argument. */
export type Clock = () => Instant;

/** The machine's own clock. */
export const systemClock: Clock = () => Date.now();
