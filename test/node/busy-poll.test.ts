import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { beforeEach, describe, expect, test } from "vitest";
import { type BusyPoll, createBusyPoll } from "../../lib/node/busy-poll.ts";

const run = promisify(execFile);
const PROGRAM = fileURLToPath(new URL("busy-poll-process.ts", import.meta.url));
const CLIENT = {};

let now: number;
let due: (() => void)[];
let busyPoll: BusyPoll;
beforeEach(() => {
  now = 1_000;
  due = [];
  busyPoll = createBusyPoll({ now: () => now, turn: (callback) => due.push(callback) });
});

/** Runs one turn of the event loop. True if the loop would not have slept before it. */
function turn(): boolean {
  const callbacks = due.splice(0);
  for (const callback of callbacks) callback();
  return callbacks.length > 0;
}

/** How long the event loop stays awake, in milliseconds. */
function awakeMs(): number {
  const start = now;
  while (turn()) now += 0.01;
  return now - start;
}

/** Requests of 1 ms each, after pauses of `pauseMs`. */
function requests(count: number, pauseMs: number, client: object = CLIENT): void {
  for (let request = 0; request < count; request++) {
    now += pauseMs;
    turn();
    busyPoll.begin(client);
    now += 1;
    busyPoll.end();
  }
}

describe("createBusyPoll()", () => {
  test("stays awake for 0.2 ms when one client sends one request after another", () => {
    requests(20, 0.1);
    expect(awakeMs()).toBeCloseTo(0.2, 1);
    expect(turn()).toBe(false);
  });

  test("sleeps until eight requests have come soon", () => {
    requests(8, 0.1);
    expect(turn()).toBe(false);
    requests(1, 0.1);
    expect(turn()).toBe(true);
  });

  test("sleeps when requests come later, or soon only now and then", () => {
    requests(100, 0.3);
    expect(turn()).toBe(false);
    for (let burst = 0; burst < 20; burst++) {
      requests(3, 0.1);
      requests(1, 5);
    }
    expect(turn()).toBe(false);
  });

  test("sleeps when requests come from several clients in turn", () => {
    for (let client = 0; client < 100; client++) requests(1, 0.1, {});
    expect(turn()).toBe(false);
  });

  test("sleeps again after two late requests, and stays awake despite a single one", () => {
    requests(50, 0.1);
    requests(1, 5);
    expect(turn()).toBe(true);
    requests(2, 5);
    expect(turn()).toBe(false);
  });

  test("sleeps while a request is in progress", () => {
    requests(20, 0.1);
    busyPoll.begin(CLIENT);
    expect([turn(), turn()]).toEqual([true, false]);
    busyPoll.begin({});
    busyPoll.end();
    expect(turn()).toBe(false);
    busyPoll.end();
    expect(turn()).toBe(false);
  });
});

test("a server polls for the next request, and only then with many turns of the event loop", async () => {
  const mostTurns = async (mode: string) => Number((await run(process.execPath, [PROGRAM, mode])).stdout);
  expect(await mostTurns("poll")).toBeGreaterThan(10);
  expect(await mostTurns("sleep")).toBeLessThan(5);
});
