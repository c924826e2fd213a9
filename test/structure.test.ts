import { expect, test } from "vitest";
import { measureSizes } from "./support/size.ts";

test.each(measureSizes())("$part: at most $max $unit", ({ files, size, max }) => {
  expect(files).toBeGreaterThan(20);
  expect(size).toBeLessThanOrEqual(max);
});
