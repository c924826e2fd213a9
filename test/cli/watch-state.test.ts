import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openWatchState } from "../../lib/cli/watch-state.ts";
import { addDomain } from "../../lib/domains/lifecycle.ts";

test("the state of a watch is written without touching another file, and leaves none behind", () => {
  const folder = mkdtempSync(join(tmpdir(), "store-orders-watch-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "state");
  writeFileSync(`${path}.next`, "mine");
  openWatchState(path, 0).save(new Map([["a.example.com", addDomain("a.example.com", 0)]]), 0);
  expect(readdirSync(folder).sort()).toEqual(["state", "state.next"]);
  expect(readFileSync(`${path}.next`, "utf8")).toBe("mine");
  expect([...openWatchState(path, 1).earlier.keys()]).toEqual(["a.example.com"]);
});

test("a state that cannot replace what is at its path leaves no file behind", () => {
  const folder = mkdtempSync(join(tmpdir(), "store-orders-watch-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "state");
  const file = openWatchState(path, 0);
  rmSync(path);
  mkdirSync(path);
  expect(() => file.save(new Map(), 0)).toThrow("Give another path for the state with --state.");
  expect(readdirSync(folder)).toEqual(["state"]);
});
