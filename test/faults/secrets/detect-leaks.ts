import { afterAll, afterEach, expect } from "vitest";
import { reportFigures } from "../run.ts";
import { createLeakDetector, type LeakDetector } from "./leak-detector.ts";

/** Creates a leak detector for all tests of a file. A leak fails the test. The numbers are reported at the end. */
export function detectLeaks(subject: string): LeakDetector {
  const detector = createLeakDetector();
  let found = 0;
  afterEach(() => {
    const leaks = detector.leaks();
    found += leaks.length;
    expect(leaks).toEqual([]);
  });
  afterAll(() =>
    reportFigures("secrets", {
      [`texts of ${subject}`]: detector.texts,
      "keys and hashes searched for in each": detector.secrets,
      "found in them": found,
    }),
  );
  return detector;
}
