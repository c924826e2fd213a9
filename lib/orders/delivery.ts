import { assertOptions, errorMessage, invalidInput, isStoreUnavailable } from "../core/errors.ts";
import { logHookError, reportSafely } from "../core/hooks.ts";
import {
  assertLimits,
  backoffMs,
  type Clock,
  type Instant,
  MAX_STORE_CALL_MS,
  MAX_TIMER_MS,
  schedule,
  systemClock,
  waitForTimer,
  wholeClock,
} from "../core/time.ts";
import { changeIdOf, type OrderChange, type OrderWithHistory } from "./history.ts";
import { type OrderEvent, statusAfter, statusBefore } from "./lifecycle.ts";
import type { AcknowledgedOrder, HeldOrder, Outbox, WaitingOrder } from "./order-store.ts";
import type { OrderTransition } from "./transition-hook.ts";
import { DamagedOrderError, orderToJson } from "./wire.ts";

/** A change of an order, as it is delivered. `order` is the order as it is now, `to` its status after the change. */
export interface DeliveredChange
  extends Omit<OrderTransition, "requestId">,
    Omit<OrderChange, "event" | "token"> {
  /** The same for every delivery of this change, and for no other change; see `changeIdOf`. */
  readonly id: string;
}

/** Options of `deliverChanges`. */
export interface DeliverOptions {
  readonly store: { readonly outbox?: Outbox };
  /**
   * The change is repeated, in this process or another one, until the promise resolves. An error with `retryable:
   * false` sets it aside at once. After one with `retryAfterMs`, this process delivers nothing for that time, then one
   * change, and more with each success. The signal aborts when the time is up.
   */
  readonly deliver: (change: DeliveredChange, signal: AbortSignal) => unknown;
  /** Called with each error: of a delivery, of the store, once if a retry cannot correct it, or that somebody has switched the outbox off. @default writes a line to the console */
  readonly onError?: (error: unknown, change?: DeliveredChange) => void;
  /** The attempts after which a change is set aside. @default 100, which takes about four days */
  readonly maxAttempts?: number;
  /** The orders whose changes this process delivers at once. @default 64 */
  readonly concurrency?: number;
  /** The time within which `deliver` must resolve. @default 30,000 */
  readonly timeoutMs?: number;
  /** The time between two reads of a store in which nothing waits. @default 1,000 */
  readonly pollMs?: number;
  /** Ends once nothing is due or leased, or the store has failed: for a function that is invoked again. @default false */
  readonly untilEmpty?: boolean;
  /** Returns the current time. @default the system clock */
  readonly clock?: Clock;
  /** Resolves after a time, or once the signal aborts. @default a timer */
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** The delivery of changes by one process. */
export interface Delivery {
  /**
   * Begins no further delivery. Resolves when those under way have ended: by themselves, or aborted after `graceMs`
   * (by default never), as failed attempts.
   */
  stop(options?: { readonly graceMs?: number }): Promise<void>;
  readonly ended: Promise<void>;
}

/** The time beyond `timeoutMs` to record a delivery: two calls. After that, another process repeats the delivery. */
const LEASE_MARGIN_MS = 2 * MAX_STORE_CALL_MS;

/** The longest wait until the deliveries that have ended are half of those at once, to lease as many orders together. */
const COLLECT_MS = 50;

/** The leases after which the event loop goes on: a store in memory answers within the same turn. */
const LEASES_PER_TURN = 100;

/** Aborts what a delivery that has ended may have left. One error for all, because creating each takes long. */
const ENDED = new Error("The delivery has ended.");

/** The longest wait after the first failure of a change, and after any; see `backoffMs`. */
const MIN_RETRY_MS = 1_000;
const MAX_RETRY_MS = 7_200_000;

/** The time between two looks at what is held, and the most orders that are read at once. */
const LOOK_MS = 10_000;
const MAX_HELD = 10_000;

const SWITCHED_OFF =
  "The outbox was switched off. This process delivers what waits, and then has nothing to do until it is on again, by " +
  "'store-orders database outbox on' or a restart.";

/** A lease has its length, and a random part, by which it differs from the one before it. */
const LEASE_NUMBERS = 2 ** 20;
const newLease = (lengthMs: number) =>
  -(lengthMs * LEASE_NUMBERS + Math.floor(Math.random() * LEASE_NUMBERS));
const lengthOf = (lease: number) => Math.floor(-lease / LEASE_NUMBERS);

/** What this process has seen of the leases in an outbox. A function that is invoked again goes on with it. */
const watches = new WeakMap<Outbox, LeaseWatch>();

/** Finds leases seen for their whole length, and attempts that a wrong clock has set, without comparing two clocks. */
class LeaseWatch {
  #seen: ReadonlyMap<bigint, HeldOrder & { readonly since: number }> = new Map();
  #lookedAt = Number.NEGATIVE_INFINITY;

  get seesLeases(): boolean {
    return this.#seen.size > 0;
  }

  /** Makes due what nobody holds, unless it has looked lately. `elapsed` may come from any clock of this process. */
  async releaseEnded(outbox: Outbox, at: Instant, elapsed: number, lookMs: number): Promise<void> {
    if (elapsed >= this.#lookedAt && elapsed < this.#lookedAt + lookMs) return;
    const held = await outbox.held(at + MAX_RETRY_MS, MAX_HELD);
    this.#lookedAt = elapsed;
    const ended: HeldOrder[] = [];
    const seen = new Map<bigint, HeldOrder & { readonly since: number }>();
    for (const order of held) {
      const { id, hold } = order;
      const known = this.#seen.get(id);
      const since = known?.hold === hold ? Math.min(known.since, elapsed) : elapsed;
      if (hold >= 0 || elapsed - since >= lengthOf(hold)) ended.push(order);
      // Also one that has ended: a store may skip it while the order is being changed.
      if (hold < 0) seen.set(id, { id, hold, since });
    }
    this.#seen = seen;
    if (ended.length > 0) await outbox.release(ended);
  }
}

/**
 * Switches the outbox on, and delivers every change from then on at least once: those of one order in their order, also
 * after a crash, and with any number of processes. A change that cannot be delivered is retried with exponential
 * backoff, and holds up later changes of its order only. An order that cannot be read is set aside with a
 * `DamagedOrderError`. See lib/orders/README.md#delivery. Throws `InvalidInputError`, also for a store without an outbox.
 */
export function deliverChanges(options: DeliverOptions): Delivery {
  const limits = ["maxAttempts", "concurrency", "timeoutMs", "pollMs"];
  assertOptions(options, ["store", "deliver", "onError", ...limits, "untilEmpty", "clock", "wait"]);
  const { store, deliver, maxAttempts = 100, concurrency = 64, timeoutMs = 30_000, pollMs = 1_000 } = options;
  const { untilEmpty = false, clock: givenClock, wait = waitForTimer } = options;
  const {
    onError = (error, change) => logHookError(error, change ? `delivery of ${change.id}` : "deliverChanges"),
  } = options;
  assertLimits({ concurrency, timeoutMs, pollMs });
  if (!Number.isSafeInteger(maxAttempts) || maxAttempts < 1)
    throw invalidInput("maxAttempts", "Use a whole number of at least 1.");
  const clock = wholeClock(givenClock ?? systemClock);
  // The clock of the system can be set while this runs.
  const elapsedMs = givenClock === undefined ? () => performance.now() : clock;
  const outbox = store.outbox ?? raise(invalidInput("store", "It has no outbox. Use another store."));
  const watch = (givenClock === undefined && watches.get(outbox)) || new LeaseWatch();
  if (givenClock === undefined) watches.set(outbox, watch);
  let [isStopped, isCutOff] = [false, false];
  const running = new Set<Promise<void>>();
  const signals = new Set<AbortController>();
  /** The orders that may be delivered at once, and the time, as that of `elapsedMs`, before which none may. */
  let [allowed, pausedUntil] = [concurrency, Number.NEGATIVE_INFINITY];
  /** Ends the wait for changes: a delivery has ended, or all of them have to. */
  let idle = new AbortController();
  const next: AcknowledgedOrder[] = [];
  let recorded = Promise.resolve();

  const report = (error: unknown, change?: DeliveredChange) =>
    reportSafely(error, "deliverChanges", () => onError(error, change));

  /** Records a delivery, together with those that end while the deliveries before it are recorded. */
  function acknowledge(delivery: AcknowledgedOrder): Promise<void> {
    if (next.length === 0)
      recorded = recorded.then(() => outbox.acknowledge(next.splice(0))).catch((error) => report(error));
    next.push(delivery);
    return recorded;
  }

  async function attempt(waiting: WaitingOrder): Promise<void> {
    const { id, order, delivered, attempts, lease = 0 } = waiting;
    if (order === undefined) {
      report(new DamagedOrderError(`${waiting.problem} Its changes are set aside.`));
      return outbox.postpone(id, lease, undefined);
    }
    if (delivered >= order.history.length) return acknowledge({ id, delivered, lease });
    const change = changeOf(order, delivered);
    const time = new AbortController();
    signals.add(time);
    const late = wait(timeoutMs, time.signal).then(() => {
      const limit = `It took more than ${timeoutMs} ms.`;
      throw new Error(isCutOff ? "It was cut off, because the process stops." : limit);
    });
    try {
      await Promise.race([(async () => deliver(change, time.signal))(), late]);
    } catch (error) {
      report(error, change);
      const { retryable, retryAfterMs } = Object(error) as { retryable?: unknown; retryAfterMs?: unknown };
      const isFinal = attempts + 1 >= maxAttempts || retryable === false;
      const pauseMs = pauseFor(retryAfterMs);
      if (pauseMs > 0) [allowed, pausedUntil] = [1, Math.max(pausedUntil, elapsedMs() + pauseMs)];
      const waitMs = Math.max(pauseMs, backoffMs(attempts, MIN_RETRY_MS, MAX_RETRY_MS));
      const retryAt = clock() + Math.ceil(waitMs);
      return await outbox.postpone(id, lease, isFinal ? undefined : retryAt);
    } finally {
      signals.delete(time);
      time.abort(ENDED);
    }
    allowed = Math.min(concurrency, 2 * allowed);
    await acknowledge({ id, delivered: delivered + 1, lease });
  }

  function start(waiting: WaitingOrder): void {
    const task = attempt(waiting)
      .catch((error) => report(error))
      .then(() => {
        running.delete(task);
        idle.abort();
      });
    running.add(task);
  }

  async function run(): Promise<void> {
    let isOn: boolean | undefined;
    let [leasedAt, lookedAt] = [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY];
    let leases = 0;
    /** The last error, if a retry cannot correct it: it is reported once, and tried again less often. */
    let lasting: string | undefined;
    while (!isStopped) {
      idle = new AbortController();
      // A change that is delivered while the next ones are leased can be followed by another of its order.
      const isIdle = running.size === 0;
      let free = 0;
      let found: readonly WaitingOrder[] = [];
      let [isTime, isPaused, hasFailed] = [false, false, false];
      try {
        const elapsed = elapsedMs();
        isPaused = elapsed < pausedUntil;
        if (!isPaused) free = Math.max(0, allowed - running.size);
        isTime = lasting === undefined && 2 * free >= allowed;
        const nextAt = leasedAt + (lasting === undefined ? COLLECT_MS : LOOK_MS);
        isTime ||= free > 0 && (elapsed < leasedAt || elapsed >= nextAt);
        if (isOn === undefined) {
          await outbox.switch(true);
          [isOn, lookedAt] = [true, elapsed];
        } else if (!untilEmpty && (elapsed < lookedAt || elapsed >= lookedAt + LOOK_MS)) {
          lookedAt = elapsed;
          const isStillOn = await outbox.isOn();
          if (isOn && !isStillOn) report(new Error(SWITCHED_OFF));
          isOn = isStillOn;
        }
        if (isTime) {
          leasedAt = elapsed;
          await watch.releaseEnded(outbox, clock(), elapsed, untilEmpty ? pollMs : LOOK_MS);
          const leased = await outbox.lease(free, clock(), newLease(timeoutMs + LEASE_MARGIN_MS));
          if (isStopped) await outbox.release(leased.map(({ id, lease: hold = 0 }) => ({ id, hold })));
          else found = [...leased];
          lasting = undefined;
        }
      } catch (error) {
        const problem = isStoreUnavailable(error) && !error.retryable ? errorMessage(error) : undefined;
        if (problem === undefined || problem !== lasting) report(error);
        [lasting, isTime, hasFailed] = [problem, true, true];
      }
      found.forEach(start);
      // The lease of a process that has died ends only for one that waits for it.
      if (untilEmpty && isIdle && found.length === 0 && (isPaused || hasFailed || !watch.seesLeases)) break;
      const pauseMs = lasting === undefined ? pollMs : Math.max(pollMs, LOOK_MS);
      if (found.length === 0) await wait(isTime || free === 0 || lasting ? pauseMs : COLLECT_MS, idle.signal);
      else if (++leases % LEASES_PER_TURN === 0) await new Promise<void>(schedule);
    }
    await Promise.all(running);
  }

  const ended = run();
  return {
    ended,
    async stop({ graceMs = Number.POSITIVE_INFINITY } = {}) {
      if (!(graceMs >= 0)) throw invalidInput("graceMs", "Use a number of milliseconds, at least 0.");
      isStopped = true;
      idle.abort();
      const cutOff = () => {
        isCutOff = true;
        for (const signal of signals) signal.abort(ENDED);
      };
      const timer = setTimeout(cutOff, Math.min(graceMs, MAX_TIMER_MS));
      await ended;
      clearTimeout(timer);
    },
  };
}

/** The pause after an error, with jitter. Two hours at most: an attempt further ahead was set by a wrong clock. */
function pauseFor(retryAfterMs: unknown): number {
  if (typeof retryAfterMs !== "number" || !(retryAfterMs >= 0)) return 0;
  const jitterMs = Math.random() * Math.max(MIN_RETRY_MS, retryAfterMs / 10);
  return Math.min(MAX_RETRY_MS, retryAfterMs + jitterMs);
}

/** A change as JSON: `at` as RFC 3339, the `status` now, the `order` as the API sends it, without what does not apply. */
export function changeToJson({ order, id, event, at, from, to, by, requestId }: DeliveredChange): string {
  const { record, status } = order;
  const rest = { id, event, at: new Date(at).toISOString(), from, to, by, requestId, status };
  return `${JSON.stringify(rest).slice(0, -1)},"order":${orderToJson(record)}}`;
}

export function changeOf({ record, status, history }: OrderWithHistory, delivered: number): DeliveredChange {
  const [change, next] = history.slice(delivered);
  if (change === undefined) throw new Error(`Order ${record.id} has no change ${delivered + 1}.`);
  const { event, token: _token, ...rest } = change;
  const id = changeIdOf(record.id, delivered + 1, change);
  // No record has the status in which an order was placed: the next event required it.
  if (event === "place") {
    const to = next === undefined ? status : statusBefore(next.event as OrderEvent);
    return { id, order: { record, status }, event, to, ...rest };
  }
  const [from, to] = [statusBefore(event), statusAfter(event)];
  return { id, order: { record, status }, event, from, to, ...rest };
}

function raise(error: Error): never {
  throw error;
}
