import { expect, test } from "vitest";
import { createAnonymousCallers } from "../../lib/accounts/anonymous-callers.ts";
import { MINUTE_MS } from "../../lib/plans/windows.ts";

const AT = Date.UTC(2026, 10, 20, 12);

test("an address gets the Free plan's limits, and another has its own", () => {
  const callers = createAnonymousCallers();
  for (let call = 1; call <= 60; call++) {
    expect(callers.count("192.0.2.1", AT)).toEqual({
      admitted: true,
      quota: { limit: 60, remaining: 60 - call, resetsAt: AT + MINUTE_MS },
    });
  }
  expect(callers.count("192.0.2.1", AT)).toMatchObject({ admitted: false, quota: { remaining: 0 } });
  expect(callers.count("192.0.2.2", AT)).toMatchObject({ admitted: true });
  expect(callers.count("192.0.2.1", AT + MINUTE_MS)).toMatchObject({ admitted: true });
});

test("peek() returns the quota without counting a request", () => {
  const callers = createAnonymousCallers();
  expect(callers.peek("192.0.2.1", AT)).toMatchObject({ remaining: 60 });
  expect(callers.peek("192.0.2.1", AT)).toMatchObject({ remaining: 60 });
});

test.each([
  ["2001:db8:1:2::1", "2001:DB8:1:2:ffff:0:0:9", true],
  ["2001:db8::1", "2001:db8:0:0:1::", true],
  ["2001:db8:1:2::1", "2001:db8:1:3::1", false],
  ["::ffff:192.0.2.1", "192.0.2.1", true],
  ["::1", "::2", true],
])("%s and %s are one network: %s", (one, other, same) => {
  const callers = createAnonymousCallers();
  callers.count(one, AT);
  expect(callers.peek(other, AT).remaining).toBe(same ? 59 : 60);
});

test("any number of addresses is held in bounded memory: the one seen first is forgotten", () => {
  const callers = createAnonymousCallers({ capacity: 2 });
  for (const address of ["a", "b", "c"]) callers.count(address, AT);
  expect(["a", "b", "c"].map((address) => callers.peek(address, AT).remaining)).toEqual([60, 59, 59]);
});
