import { bestPeer, type Figure, timesBetter, type Verdict } from "./figures.ts";

/** The budgets of the design are of three kinds: against the best peer, against the floor, and plain. */

/** So many times better than the best peer. */
export function atLeastPeers(times: number): (figure: Figure) => Verdict {
  return (figure) => {
    const best = bestPeer(figure);
    const met = best !== undefined && timesBetter(figure, best[1]) >= times;
    return { budget: times === 1 ? "≥ the best peer" : `≥ ${times} × the best peer`, met };
  };
}

/** At most so many times the floor. */
export function atMostFloor(times: number): (figure: Figure) => Verdict {
  return ({ ours, floor }) => ({
    budget: `≤ ${times} × the floor`,
    met: floor !== undefined && ours.median <= times * floor.median,
  });
}

/** At most so much. */
export function atMost(most: number): (figure: Figure) => Verdict {
  return ({ ours, unit }) => ({ budget: `≤ ${most} ${unit}`.trim(), met: ours.median <= most });
}
