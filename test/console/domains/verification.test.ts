import { expect, test, vi } from "vitest";
import { createProgress } from "../../../lib/console/domains/hosts.ts";
import { nextSteps } from "../../../lib/console/domains/verification.ts";
import { adviceFor } from "../../../lib/domains/status/steps.ts";
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

test("nothing is looked up until somebody asks, and then at most every 15 seconds, until the host is live", async () => {
  const { world, progress, settle } = useProgress();
  progress.continue(HOST);
  expect(world.queries).toBe(0);
  await progress.verify(HOST, { reverify: false });
  expect(progress.of(HOST.host)?.domain.state).toBe("certificate_pending");
  const first = world.queries;
  world.now = 14_999;
  progress.continue(HOST);
  await settle();
  expect(world.queries).toBe(first);
  world.now = 15_000;
  world.hasCertificate = true;
  progress.continue(HOST);
  progress.continue(HOST);
  await settle();
  expect(world.queries).toBe(2 * first);
  expect(progress.of(HOST.host)?.domain.state).toBe("live");
  world.now = MINUTE;
  progress.continue(HOST);
  await settle();
  expect(world.queries).toBe(2 * first);
});

test("time alone makes a host need attention after 30 minutes, and only Re-verify begins anew", async () => {
  const { world, progress } = useProgress();
  await progress.verify(HOST, { reverify: false });
  world.now = 30 * MINUTE;
  const checked = progress.of(HOST.host);
  expect(checked?.domain).toMatchObject({ state: "needs_attention", attention: "certificate_overdue" });
  expect(checked && nextSteps(checked)).toEqual(
    adviceFor({ state: "needs_attention", attention: "certificate_overdue" }, "machine"),
  );
  await progress.verify(HOST, { reverify: false });
  expect(progress.of(HOST.host)?.domain.state).toBe("needs_attention");
  await progress.verify(HOST, { reverify: true });
  expect(progress.of(HOST.host)?.domain).toMatchObject({
    state: "certificate_pending",
    verifiedAt: 30 * MINUTE,
  });
});

test("what to do is the fix of every reason, which the advice for the state does not repeat; for a live host only the fixes", async () => {
  const { world, progress } = useProgress();
  const steps = async () => {
    await progress.verify(HOST, { reverify: false });
    const checked = progress.of(HOST.host) ?? expect.fail();
    return { fixes: checked.verification.reasons.map(({ fix }) => fix), todo: nextSteps(checked) };
  };
  world.cname = "elsewhere.example.net";
  const wrong = await steps();
  expect(wrong.fixes).toHaveLength(1);
  expect(wrong.todo).toEqual([...wrong.fixes, "DNS changes may take up to 48 hours to propagate."]);
  Object.assign(world, { cname: "platform.example.net", hasCertificate: true });
  expect(await steps()).toEqual({ fixes: [], todo: [] });
});

test("a host that was removed is forgotten", async () => {
  const { progress } = useProgress();
  await progress.verify(HOST, { reverify: false });
  progress.keep([]);
  expect(progress.of(HOST.host)).toBeUndefined();
});

test("the record of a host is in the zone that was given or that DNS has, and in a guess while DNS is silent", async () => {
  const { progress } = useProgress();
  const host = { ...HOST, host: "www.sub.example.com" };
  expect(await progress.record({ ...host, zone: "sub.example.com" })).toMatchObject({
    zoneSource: "given",
    name: "www",
  });
  const silent = createProgress(
    { resolver: () => new Promise(() => {}), probe: vi.fn(), authorities: [] },
    () => 0,
  );
  expect(await silent.record(host)).toMatchObject({ zoneSource: "public_suffix_list", name: "www.sub" });
});
