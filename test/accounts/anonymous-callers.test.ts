import { expect, test } from "vitest";
import { createAnonymousCallers } from "../../lib/accounts/anonymous-callers.ts";
import { MINUTE_MS } from "../../lib/plans/windows.ts";

const AT = Date.UTC(2026, 10, 20, 12);

test("an address gets the Free plan's limits, and another has its own", () => {
  const callers = createAnonymousCallers();
  for (let call = 1; call <= 60; call++) {
    expect(callers.count("192.0.2.1", AT)).toEqual({
      withinLimit: true,
      quota: { limit: 60, remaining: 60 - call, resetsAt: AT + MINUTE_MS },
    });
  }
  expect(callers.count("192.0.2.1", AT)).toMatchObject({ withinLimit: false, quota: { remaining: 0 } });
  expect(callers.count("192.0.2.2", AT)).toMatchObject({ withinLimit: true });
  expect(callers.count("192.0.2.1", AT + MINUTE_MS)).toMatchObject({ withinLimit: true });
});

test("peek() returns the quota without counting a request", () => {
  const callers = createAnonymousCallers();
  expect(callers.peek("192.0.2.1", AT)).toMatchObject({ remaining: 60 });
  expect(callers.peek("192.0.2.1", AT)).toMatchObject({ remaining: 60 });
});

test.each([
  ["2001:db8:1:2::1", "2001:DB8:1:2:ffff:0:0:9", true],
  ["2001:db8::1", "2001:db8:0:0:1::", true],
  ["2001:db8:1:2::1", "2001:db8:1:3::1", true],
  ["2001:db8:11::1", "2001:db81:1::1", false],
  ["2001::ffff:1", "2001::1", true],
  ["255.255.255.255", "unknown", false],
  ["::ffff:192.0.2.1", "192.0.2.1", true],
  ["::1", "::2", true],
  ["192.0.2.1:443", "192.0.2.1", true],
  [" 192.0.2.1 ", "192.0.2.1", true],
  ["192.0.2.1:50123", "192.0.2.1:50124", true],
  ["192.000.002.001", "192.0.2.1", true],
  ["[2001:db8::1]:443", "2001:db8::1", true],
  ["[2001:db8::1]", "2001:0db8:0000:0000:0000:0000:0000:0001", true],
  ["fe80::1%eth0", "fe80::1%eth1", true],
  ["fe80::1%eth0", "fe80::1", true],
  ["::FFFF:192.0.2.1", "192.0.2.1:80", true],
  ["::ffff:c000:201", "192.0.2.1", true],
  ["[::ffff:192.0.2.1]:8080", "192.0.2.1", true],
  ["64:ff9b::192.0.2.1", "192.0.2.1", true],
  ["64:ff9b::c000:201", "64:ff9b::192.0.2.2", false],
  ["64:ff9b:1::192.0.2.1", "64:ff9b:1::192.0.2.2", true],
])("%s and %s are one network: %s", (one, other, same) => {
  const callers = createAnonymousCallers();
  callers.count(one, AT);
  expect(callers.peek(other, AT).remaining).toBe(same ? 59 : 60);
});

test.each([
  ...["", "unknown", "256.0.0.1", "1.2.3", "1.2.3.4.5", "1:2.3.4.5"],
  ...["x[2001:db8::1]", "[2001:db8::1]x", "::1]/a:b", "::1]/x", "[::1"],
  ...["1:2:3", "::1::2", "12345::", "1:2:3:4:5:6:7:8:9", "::g"],
])("%j is not an address, and counts with all that are not", (text) => {
  const callers = createAnonymousCallers();
  callers.count("not an address", AT);
  expect(callers.peek(text, AT).remaining).toBe(59);
  expect(callers.peek("192.0.2.1", AT).remaining).toBe(60);
});

test("the /64 networks of a /48 share its limits per minute and per day, also if they take turns", () => {
  const callers = createAnonymousCallers({ limits: { perMinute: 2, perDay: 9 } });
  let admitted = 0;
  for (let minute = 0; minute < 600; minute++)
    for (let call = 0; call < 12; call++) {
      const address = `2001:db8:1:${4 * (minute % 50) + (call % 4)}::1`;
      if (callers.count(address, AT + minute * MINUTE_MS).withinLimit) admitted++;
    }
  expect(admitted).toBe(9);
  expect(callers.peek("2001:db8:2::1", AT).remaining).toBe(2);
});

test("IPv6 callers above the capacity share the limit of that counter", () => {
  const callers = createAnonymousCallers({ capacity: 1 });
  callers.count("192.0.2.1", AT);
  let admitted = 0;
  for (let site = 0; site < 200; site++) {
    if (callers.count(`2001:db8:${site.toString(16)}::1`, AT).withinLimit) admitted++;
  }
  expect(admitted).toBe(60);
  expect(callers.peek("2001:db8:ffff::1", AT).remaining).toBe(0);
  expect(callers.count("192.0.2.2", AT)).toMatchObject({ withinLimit: false });
});

test("new callers share one counter while the memory is full of callers of this minute", () => {
  const callers = createAnonymousCallers({ capacity: 2 });
  for (const last of [1, 2, 3, 4]) callers.count(`192.0.2.${last}`, AT + last);
  const remaining = [1, 2, 3, 5].map((last) => callers.peek(`192.0.2.${last}`, AT).remaining);
  expect(remaining).toEqual([59, 59, 58, 58]);
  for (const last of [2, 3, 4, 5]) callers.count(`192.0.2.${last}`, AT + MINUTE_MS);
  expect(callers.peek("192.0.2.5", AT + MINUTE_MS), "without room").toMatchObject({ remaining: 58 });
  expect(callers.peek("192.0.2.3", AT + MINUTE_MS)).toMatchObject({ remaining: 59 });
  expect(callers.peek("192.0.2.2", AT + MINUTE_MS)).toMatchObject({ remaining: 59 });
});

test("the caller that was away for longest makes room, and not one that has just returned", () => {
  const callers = createAnonymousCallers({ capacity: 2 });
  for (const last of [1, 2]) callers.count(`192.0.2.${last}`, AT);
  for (const last of [1, 3, 4]) callers.count(`192.0.2.${last}`, AT + MINUTE_MS);
  for (const last of [1, 3, 4])
    expect(callers.peek(`192.0.2.${last}`, AT + MINUTE_MS)).toMatchObject({ remaining: 59 });
  callers.count("192.0.2.5", AT + MINUTE_MS);
  expect(callers.peek("192.0.2.4", AT + MINUTE_MS), "without room").toMatchObject({ remaining: 58 });
});

test("a known caller takes nobody's place, so that everyone's count of the day stays", () => {
  const callers = createAnonymousCallers({ capacity: 2, limits: { perMinute: 2, perDay: 2 } });
  for (const address of ["192.0.2.1", "192.0.2.1", "192.0.2.2"]) callers.count(address, AT);
  callers.count("192.0.2.2", AT + MINUTE_MS);
  expect(callers.peek("192.0.2.1", AT + MINUTE_MS)).toMatchObject({ limit: 2, remaining: 0 });
});

test("a new caller costs about the same, however many have made room before", () => {
  const callers = createAnonymousCallers({ capacity: 20_000 });
  /** Processor time in ms that 10,000 new callers of a minute take. */
  const countNew = (minute: number) => {
    const before = process.threadCpuUsage().user;
    for (let caller = 0; caller < 10_000; caller++)
      callers.count(`10.${minute}.${caller >> 8}.${caller & 255}`, AT + minute * MINUTE_MS);
    return (process.threadCpuUsage().user - before) / 1_000;
  };
  const [first = 0, second = 0, ...later] = Array.from({ length: 8 }, (_, minute) => countNew(minute));
  expect(Math.max(...later)).toBeLessThan(4 * Math.max(first, second) + 20);
});
