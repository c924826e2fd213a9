import { expect, test } from "vitest";
import { createLeakDetector, unknownKey } from "./leak-detector.ts";

test("the leak detector finds a key and a part of a key", () => {
  const detector = createLeakDetector();
  const key = detector.addSecret(unknownKey());
  detector.record("a log", `with ${key} in it`);
  detector.record("a name", key.slice(-38));
  detector.record("nothing", key.slice(0, -38));
  expect(detector.leaks()).toEqual(["a log: a key", "a name: a key"]);
});
