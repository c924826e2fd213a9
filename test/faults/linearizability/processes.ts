import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import type { Call, History, Reply } from "./calls.ts";
import type { Operation } from "./history.ts";
import type { Event, Planned, Report } from "./worker-process.ts";

/** What each process does: lanes of calls. */
export type Plan = readonly (readonly (readonly Planned[])[])[];

/** A process that is killed once it has told so much. */
export interface Kill {
  readonly process: number;
  readonly afterReports: number;
}

/** Processes that make histories together, one after another. */
export interface Processes {
  /** Has a plan carried out, and tells what was called and answered when. */
  record(plan: Plan, kill?: Kill): Promise<History>;
  stop(): Promise<void>;
}

/** Starts them, each with the same arguments. */
export function startProcesses(count: number, store: readonly string[]): Processes {
  const program = new URL("worker-process.ts", import.meta.url);
  const start = () => fork(program, store, { serialization: "advanced" });
  const processes = Array.from({ length: count }, start);

  return {
    async record(plan, kill) {
      for (const [index, child] of processes.entries()) if (!isAlive(child)) processes[index] = start();
      const parts = plan.map((lanes, index) => follow(processes[index] as ChildProcess, lanes));
      await Promise.all(parts.map(({ ready }) => ready));
      if (kill !== undefined) parts[kill.process]?.killAfter(kill.afterReports);
      for (const { go } of parts) go();
      return (await Promise.all(parts.map(({ history }) => history))).flat();
    },

    async stop() {
      await Promise.all(
        processes.filter(isAlive).map((child) => {
          const ended = once(child, "exit");
          child.kill("SIGKILL");
          return ended;
        }),
      );
    },
  };
}

function isAlive({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode === null && signalCode === null;
}

/** Sends a process its lanes and collects what it tells, until it is through or killed. */
function follow(child: ChildProcess, lanes: readonly (readonly Planned[])[]) {
  const operations = new Map<string, Operation<Call, Reply>>();
  const ready = Promise.withResolvers<void>();
  const history = Promise.withResolvers<readonly Operation<Call, Reply>[]>();
  let reports = 0;
  let killAfter = Number.POSITIVE_INFINITY;
  const isKilled = () => reports >= killAfter;

  function learn({ lane, index, at, end }: Event): void {
    const place = `${lane} ${index}`;
    const begun = operations.get(place);
    const call = lanes[lane]?.[index]?.call;
    if (begun !== undefined && end !== undefined) {
      operations.set(place, { ...begun, answered: { at, answer: end.answer } });
    } else if (call !== undefined) {
      operations.set(place, { call, invoked: at });
    }
  }

  function over(): void {
    child.off("message", hear).off("disconnect", leave);
    history.resolve([...operations.values()]);
  }

  function hear(told: Report): void {
    reports++;
    if (isKilled()) child.kill("SIGKILL");
    if (told === "ready") ready.resolve();
    else if (told !== "done") learn(told);
    else if (!isKilled()) over();
  }

  // What it has told comes in before the channel closes.
  async function leave(): Promise<void> {
    if (isAlive(child)) await once(child, "exit");
    if (isKilled()) over();
    else history.reject(new Error(`A process ended with ${child.exitCode ?? child.signalCode}.`));
    ready.reject(new Error("A process ended before it was ready."));
  }

  child.on("message", hear).on("disconnect", leave);
  child.send(lanes);
  return {
    ready: ready.promise,
    history: history.promise,
    killAfter(more: number) {
      killAfter = reports + more;
    },
    go: () => child.send("go"),
  };
}
