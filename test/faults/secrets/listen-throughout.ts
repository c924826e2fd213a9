import { afterAll, afterEach, expect } from "vitest";
import { tell } from "../run.ts";
import { createListener, type Listener } from "./listener.ts";

/** Creates a listener for all tests of a file. A leak fails the test. The numbers are reported at the end. */
export function listenThroughout(place: string): Listener {
  const listener = createListener();
  let found = 0;
  afterEach(() => {
    const leaks = listener.leaks();
    found += leaks.length;
    expect(leaks).toEqual([]);
  });
  afterAll(() =>
    tell("secrets", {
      [`texts of ${place}`]: listener.texts,
      "keys and hashes looked for in each of them": listener.secrets,
      "found in them": found,
    }),
  );
  return listener;
}
