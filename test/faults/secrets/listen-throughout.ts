import { afterAll, afterEach, expect } from "vitest";
import { tell } from "../run.ts";
import { createListener, type Listener } from "./listener.ts";

/** A listener for all the tests of a file, none of which may leak. At the end it tells its figures. */
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
