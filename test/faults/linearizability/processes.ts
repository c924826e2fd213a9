import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import type { StoreAddress } from "../../support/store-address.ts";
import type { Call, CallResult, History } from "./calls.ts";
import type { Operation } from "./checker.ts";
import type { Event, Planned, Report } from "./worker-process.ts";

/** The calls of each process, in concurrent lanes. */
export type Plan = readonly (readonly (readonly Planned[])[])[];

export interface Kill {
  readonly process: number;
  readonly afterReports: number;
}

/** Starts processes that record one history after another together, each on the same store, or on one that makes a mistake of `BROKEN`. */
export function startProcesses(count: number, address: StoreAddress, mistake = "") {
  const program = new URL("worker-process.ts", import.meta.url);
  const start = () => fork(program, [JSON.stringify(address), mistake], { serialization: "advanced" });
  const processes = Array.from({ length: count }, start);

  return {
    async record(plan: Plan, kill?: Kill): Promise<History> {
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

export type Processes = ReturnType<typeof startProcesses>;

function isAlive({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode === null && signalCode === null;
}

/** Sends a process its lanes, and collects its reports until it is done or killed. */
function follow(child: ChildProcess, lanes: readonly (readonly Planned[])[]) {
  const operations = new Map<string, Operation<Call, CallResult>>();
  const ready = Promise.withResolvers<void>();
  const history = Promise.withResolvers<readonly Operation<Call, CallResult>[]>();
  let reports = 0;
  let killAfter = Number.POSITIVE_INFINITY;
  const isKilled = () => reports >= killAfter;

  function recordEvent({ lane, index, at, end }: Event): void {
    const key = `${lane} ${index}`;
    const started = operations.get(key);
    const call = lanes[lane]?.[index]?.call;
    if (started !== undefined && end !== undefined) {
      operations.set(key, { ...started, completed: { at, result: end.result } });
    } else if (call !== undefined) {
      operations.set(key, { call, invoked: at });
    }
  }

  function finish(): void {
    child.off("message", onReport).off("disconnect", onDisconnect);
    history.resolve([...operations.values()]);
  }

  function onReport(report: Report): void {
    reports++;
    if (isKilled()) child.kill("SIGKILL");
    if (report === "ready") ready.resolve();
    else if (report !== "done") recordEvent(report);
    else if (!isKilled()) finish();
  }

  // All reports arrive before the channel closes.
  async function onDisconnect(): Promise<void> {
    if (isAlive(child)) await once(child, "exit");
    if (isKilled()) finish();
    else history.reject(new Error(`A process ended with ${child.exitCode ?? child.signalCode}.`));
    ready.reject(new Error("A process ended before it was ready."));
  }

  child.on("message", onReport).on("disconnect", onDisconnect);
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
