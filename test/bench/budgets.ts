import { bestPeer, type Figure, timesBetter, type Verdict } from "./figures.ts";

/** A budget limits a figure relative to the best peer, relative to the baseline, or absolutely. */

/** At least this many times better than the best peer. */
export function atLeastPeers(times: number): (figure: Figure) => Verdict {
  const budget = times === 1 ? "≥ the best peer" : `≥ ${times} × the best peer`;
  return (figure) => {
    const best = bestPeer(figure)?.[1];
    return { budget, met: best !== undefined && timesBetter(figure, best) >= times };
  };
}

/** At most this many times the best peer's, for a figure of which less is better. */
export function atMostPeers(times: number): (figure: Figure) => Verdict {
  return (figure) => {
    const best = bestPeer(figure);
    const met = best !== undefined && figure.ours.median <= times * best[1].median;
    return { budget: `≤ ${times} × the best peer`, met };
  };
}

/** At most this many times the baseline. */
export function atMostBaseline(times: number): (figure: Figure) => Verdict {
  return ({ ours, baseline }) => ({
    budget: `≤ ${times} × the baseline`,
    met: baseline !== undefined && ours.median <= times * baseline.median,
  });
}

/** At most this value. */
export function atMost(max: number): (figure: Figure) => Verdict {
  return ({ ours, unit }) => ({ budget: `≤ ${max} ${unit}`.trim(), met: ours.median <= max });
}
