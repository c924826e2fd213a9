import { expect, test } from "vitest";
import { createLookupLimit, type LookupCaller } from "../../lib/accounts/lookup-limit.ts";

const AT = Date.UTC(2026, 10, 20, 12);
const ADDRESS = "192.0.2.1";

/** A limit, and how many of so many new names it looks up for a caller. */
function createFlood() {
  const limit = createLookupLimit();
  let made = 0;
  const flood = (count: number, caller: LookupCaller | ((index: number) => LookupCaller), at = AT) =>
    Array.from({ length: count }, (_, index) =>
      limit.take(`made up ${++made}`, typeof caller === "function" ? caller(index) : caller, at),
    ).filter(Boolean).length;
  return { ...limit, flood };
}

test.each<[string, (index: number) => LookupCaller, number]>([
  ["an IPv4 address", () => ({ address: ADDRESS }), 20],
  ["an IPv6 /64", (index) => ({ address: `2001:db8:1:2::${index.toString(16)}` }), 20],
  ["an IPv6 /48", (index) => ({ address: `2001:db8:1:${index.toString(16)}::1` }), 100],
  ["all that is no address", (index) => ({ address: `x${index}` }), 20],
  ["an account", (index) => ({ accountId: "acme", address: `10.0.${index >> 8}.${index & 255}` }), 100],
  ["an account of which only that is known", () => ({ accountId: "acme" }), 100],
  ["each of three addresses", (index) => ({ accountId: `a${index}`, address: `10.0.${index >> 8}.1` }), 60],
])("in a second, %s has %j look-ups", (_name, callerOf, expected) => {
  const { flood } = createFlood();
  expect(flood(700, callerOf)).toBe(expected);
  expect(flood(1, { address: "203.0.113.1", accountId: "other" })).toBe(1);
});

test("an account named like a network, and a refused look-up, take nothing from others", () => {
  const { flood } = createFlood();
  expect(flood(50, { address: "unknown" })).toBe(20);
  expect(flood(50, { accountId: "none" })).toBe(50);
  for (let index = 0; index < 20; index++) flood(10, { address: "unknown", accountId: "acme" });
  expect(flood(200, (index) => ({ accountId: "acme", address: `10.0.0.${index}` }))).toBe(100);
});

test("who was refused and waits as told is looked up in the midst of a flood, also of an account from 1,000 addresses", () => {
  const { take, flood } = createFlood();
  const flooding = (index: number) => ({ accountId: "acme", address: `10.${index >> 8}.${index & 255}.1` });
  const valid = { accountId: "acme", address: ADDRESS };
  for (let second = 0; second < 5; second++) {
    const at = AT + second * 3_000;
    expect(flood(3_000, flooding, at)).toBe(second === 0 ? 100 : 50);
    expect(take(`valid ${second}`, valid, at + 500)).toBe(false);
    flood(3_000, flooding, at + 1_000);
    expect(take(`valid ${second}`, valid, at + 1_499), "too early").toBe(false);
    flood(3_000, flooding, at + 2_000);
    expect(take(`valid ${second}`, valid, at + 2_499), "as long after the last refusal").toBe(true);
  }
});

test("a name that is sent again and again without a pause is not preferred", () => {
  const { take, flood } = createFlood();
  for (let step = 0; step < 40; step++) {
    flood(30, { address: ADDRESS }, AT + step * 100);
    expect(take("hammering", { address: ADDRESS }, AT + step * 100)).toBe(false);
  }
});

test("after a second without a refusal, all look-ups are for anyone", () => {
  const { flood } = createFlood();
  const floods = [0, 1, 2, 4].map((second) => flood(21, { address: ADDRESS }, AT + second * 1_000));
  expect(floods).toEqual([20, 10, 10, 20]);
});

test("a request that has waited opens no new second, and a clock that was set back does", () => {
  const { flood } = createFlood();
  expect(flood(30, { address: ADDRESS })).toBe(20);
  expect(flood(30, { address: ADDRESS }, AT - 4_000)).toBe(0);
  expect(flood(30, { address: ADDRESS }, AT - 60_000)).toBe(20);
});

test("requests of one name share its look-up: all go on once it is known", async () => {
  const { share } = createLookupLimit();
  const found = Promise.withResolvers<void>();
  let [isKnown, lookups] = [false, 0];
  const lookUp = async () => {
    lookups++;
    await found.promise;
    isKnown = true;
    return "found";
  };
  const requests = Array.from({ length: 50 }, () => share("key", () => isKnown, lookUp));
  await Promise.resolve();
  expect(lookups).toBe(1);
  found.resolve();
  expect(new Set(await Promise.all(requests))).toEqual(new Set(["found"]));
  expect(lookups).toBe(50);
});

test("requests of a name that is not found do not wait one after another, and a failure is that of all", async () => {
  const { share } = createLookupLimit();
  let lookups = 0;
  const lookUp = async () => ++lookups;
  const never = () => false;
  const found = await Promise.all([1, 2, 3, 4].map(() => share("key", never, lookUp)));
  expect(found).toEqual([1, 2, undefined, undefined]);
  const fail = () => Promise.reject(new Error("down"));
  for (const result of await Promise.allSettled([1, 2, 3].map(() => share("key", never, fail))))
    expect(result.status).toBe("rejected");
  expect(await share("key", never, lookUp)).toBe(3);
});
