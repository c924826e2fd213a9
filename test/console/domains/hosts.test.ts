import { expect, test } from "vitest";
import { createProgress } from "../../../lib/console/domains/hosts.ts";
import { adviceFor, stepsFor } from "../../../lib/domains/status/steps.ts";
import { AUTHORITIES } from "../../../lib/domains/verification/caa.ts";
import type { DnsResolver } from "../../../lib/domains/verification/resolver.ts";

const HOST = { host: "orders.example.com", role: "primary", target: "platform.example.net" } as const;
const MINUTE = 60_000;

/** A progress over a DNS that can be changed, and a clock. */
function useProgress() {
  const world = { now: 0, queries: 0, cname: "platform.example.net", hasCertificate: false };
  const resolver = (async (name: string, type: string) => {
    world.queries += 1;
    if (type === "CNAME" && name === HOST.host) return { outcome: "found", records: [world.cname] };
    if (type === "A" && name !== HOST.host) return { outcome: "found", records: ["192.0.2.1"], direct: true };
    if (type === "NS") return { outcome: "found", records: ["ns1.example.com"] };
    return { outcome: "nodata" };
  }) as DnsResolver;
  const probe = async () =>
    world.hasCertificate
      ? ({ outcome: "valid", expiresAt: 1 } as const)
      : ({ outcome: "unreachable", found: "no TLS connection" } as const);
  const options = { resolver, probe, authorities: [AUTHORITIES.amazon] };
  const progress = createProgress(options, () => world.now);
  const settle = () => new Promise((resolve) => setTimeout(resolve, 20));
  return { world, progress, settle };
}

test("a host is looked up when its page is opened, then every 15 seconds, and every five minutes once it is live", async () => {
  const { world, progress, settle } = useProgress();
  const queriesAt = async (now: number) => {
    world.now = now;
    progress.follow([HOST]);
    progress.follow([HOST]);
    await settle();
    return world.queries;
  };
  expect(progress.of(HOST.host)).toBeUndefined();
  const once = await queriesAt(0);
  expect(once).toBeGreaterThan(0);
  expect(progress.of(HOST.host)?.status.state).toBe("certificate_pending");
  expect(await queriesAt(14_999)).toBe(once);
  world.hasCertificate = true;
  expect(await queriesAt(15_000)).toBe(2 * once);
  expect(progress.of(HOST.host)?.status.state).toBe("live");
  expect(await queriesAt(15_000 + 5 * MINUTE - 1)).toBe(2 * once);
  expect(await queriesAt(15_000 + 5 * MINUTE)).toBe(3 * once);
});

test("the hosts of a list are looked up eight at a time, and counted until the last one is done", async () => {
  const waiting: (() => void)[] = [];
  const resolver = (async (name: string) => {
    if (!name.startsWith("www")) return { outcome: "nodata" };
    await new Promise<void>((resolve) => waiting.push(resolve));
    return { outcome: "nodata" };
  }) as DnsResolver;
  const probe = async () => ({ outcome: "unreachable", found: "" }) as const;
  const progress = createProgress({ resolver, probe, authorities: [AUTHORITIES.amazon] }, () => 0);
  const hosts = Array.from({ length: 20 }, (_, index) => ({ ...HOST, host: `www.shop-${index}.com` }));
  progress.follow([...hosts, { ...HOST, target: undefined }]);
  progress.follow(hosts);
  await expect.poll(() => waiting.length).toBeGreaterThanOrEqual(8);
  expect(hosts.filter(({ host }) => progress.of(host) !== undefined)).toEqual([]);
  expect(progress.countAwaited()).toBe(20);
  const most = new Set<number>();
  await expect
    .poll(
      () => {
        for (const resume of waiting.splice(0)) resume();
        most.add(progress.countAwaited());
        return progress.countAwaited();
      },
      { interval: 1 },
    )
    .toBe(0);
  expect(most.size).toBeGreaterThan(2);
  expect(hosts.every(({ host }) => progress.of(host)?.status.state === "pending_dns")).toBe(true);
});

test("a host that needs attention is live as soon as it is right; Verify and Verify all try it anew", async () => {
  const { world, progress, settle } = useProgress();
  await progress.verify(HOST);
  world.now = 30 * MINUTE;
  const late = progress.of(HOST.host) ?? expect.fail();
  expect(late.status).toMatchObject({ state: "needs_attention", attention: "certificate_overdue" });
  expect(stepsFor(late, "machine")).toEqual(
    adviceFor({ state: "needs_attention", attention: "certificate_overdue" }, "machine"),
  );
  progress.follow([HOST]);
  await settle();
  expect(progress.of(HOST.host)?.status.state).toBe("needs_attention");
  progress.verifyAll([HOST]);
  await settle();
  const anew = { state: "certificate_pending", verifiedAt: 30 * MINUTE };
  expect(progress.of(HOST.host)?.status).toMatchObject(anew);
  world.now = 60 * MINUTE;
  await progress.verify(HOST);
  expect(progress.of(HOST.host)?.status).toMatchObject({ ...anew, verifiedAt: 60 * MINUTE });
  world.now = 90 * MINUTE;
  world.hasCertificate = true;
  progress.follow([HOST]);
  await settle();
  expect(progress.of(HOST.host)?.status.state).toBe("live");
});

test("what was not right for 72 hours is live without a click once it is served", async () => {
  const { world, progress, settle } = useProgress();
  world.cname = "elsewhere.example.net";
  await progress.verify(HOST);
  world.now = 72 * 60 * MINUTE;
  expect(progress.of(HOST.host)?.status.attention).toBe("validation_timed_out");
  Object.assign(world, { cname: "platform.example.net", hasCertificate: true });
  progress.follow([HOST]);
  await settle();
  expect(progress.of(HOST.host)?.status.state).toBe("live");
});

test("a host that was removed is forgotten", async () => {
  const { progress } = useProgress();
  await progress.verify(HOST);
  progress.keep([]);
  expect(progress.of(HOST.host)).toBeUndefined();
});

test("the page of a host does not wait for the list, and shows its record in the zone that was given or that DNS has", async () => {
  const { progress, settle } = useProgress();
  const host = { ...HOST, host: "www.sub.example.com", zone: "sub.example.com" };
  progress.follow([HOST]);
  progress.followOne(host);
  await settle();
  expect(progress.of(host.host)?.seen.records).toMatchObject([{ zoneSource: "given", name: "www" }]);
});
