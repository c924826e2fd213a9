/**
 * Work for which other connections do not have to wait: requests that a client has sent without waiting for a response,
 * and long documents. Each turn of the event loop does a few pieces of it, in the order of arrival.
 */
const MAX_PIECES_PER_TURN = 16;

const queue: (() => void)[] = [];

/** Calls `work` in a later turn of the event loop. */
export function queueWork(work: () => void): void {
  if (queue.push(work) === 1) setImmediate(runTurn);
}

function runTurn(): void {
  const pieces = queue.splice(0, MAX_PIECES_PER_TURN);
  if (queue.length > 0) setImmediate(runTurn);
  for (const work of pieces) work();
}
