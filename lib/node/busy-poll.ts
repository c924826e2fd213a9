/** The longest pause between a response and the next request for which the event loop polls. */
const MAX_PAUSE_MS = 0.2;

/** A shorter pause adds one point, a longer one takes four. With 8 of 16 points, the event loop polls. */
const POINTS = { short: 1, long: -4, toPoll: 8, max: 16 };

/** Keeps the event loop awake between the requests of a client that sends one after another. */
export interface BusyPoll {
  /** A request of a client begins. */
  begin(client: object): void;
  /** A request has ended: nothing more will be sent. */
  end(): void;
}

/** For tests. `now` is in milliseconds; `turn` calls a function in the next turn of the event loop. */
export interface EventLoop {
  readonly now: () => number;
  readonly turn: (callback: () => void) => void;
}

const EVENT_LOOP: EventLoop = { now: () => performance.now(), turn: setImmediate };

/**
 * Polls for the next request instead of sleeping, for at most 0.2 ms after a response, if the last requests came from
 * one client and mostly that soon. To fall asleep and wake up takes about as long as their pauses, and leaves the caches
 * of the processor cold. See test/bench/README.md#the-waking-event-loop.
 */
export function createBusyPoll({ now, turn }: EventLoop = EVENT_LOOP): BusyPoll {
  let inProgress = 0;
  let lastClient: object | undefined;
  let endedAt = Number.NEGATIVE_INFINITY;
  let points = 0;
  let isPolling = false;

  /** The event loop does not sleep while a callback is due in its next turn. */
  function poll(): void {
    isPolling = inProgress === 0 && isShortPause();
    if (isPolling) turn(poll);
  }

  function isShortPause(): boolean {
    return now() < endedAt + MAX_PAUSE_MS;
  }

  return {
    begin(client) {
      inProgress++;
      const changed = points + (isShortPause() ? POINTS.short : POINTS.long);
      points = client === lastClient ? Math.min(Math.max(changed, 0), POINTS.max) : 0;
      lastClient = client;
    },
    end() {
      inProgress--;
      endedAt = now();
      if (isPolling || points < POINTS.toPoll) return;
      isPolling = true;
      turn(poll);
    },
  };
}
