/**
 * A service that verifies and serves the domains of its customers: thousands of hosts, each in a zone of its own. It has
 * its own queue, its own records and its own certificate authority; the rules and the states are those of store-orders.
 */
import { request } from "node:http";
import {
  addHost,
  adviceFor,
  type HostFacts,
  type HostStatus,
  hostLookup,
  memoizeResolver,
  nextStatus,
  statusAt,
  verifyHost,
} from "store-orders/domains";
import { createHandler } from "store-orders/http";
import { createMemoryStore } from "store-orders/memory";
import { createDnsResolver, startNodeServer } from "store-orders/node";
import { type Records, serveDns } from "./dns.ts";
import { createQueue } from "./queue.ts";

const CUSTOMERS = 2000;
const CONCURRENCY = 32;
const PLATFORM = "customers.platform.example";
const MINUTE = 60_000;

/** What the customers have set: every tenth made a mistake, which differs from one to the next. */
const records = new Map<string, Records | "servfail">([[PLATFORM, { address: "198.51.100.7" }]]);
const hosts = Array.from({ length: CUSTOMERS }, (_, index) => `shop.customer-${index}.com`);
for (const [index, host] of hosts.entries()) {
  const mistake = index % 10 === 0 ? (index / 10) % 4 : undefined;
  if (mistake === 0) records.set(host.replace("shop.", ""), {});
  else if (mistake === 1) records.set(host, { cname: "old.hosting.example" });
  else if (mistake === 3) records.set(host, "servfail");
  else records.set(host, { cname: PLATFORM });
  if (mistake === 2) records.set(host.replace("shop.", ""), { issuer: "letsencrypt.org" });
}

/** The domains as this service stores them. */
const domains = new Map<string, HostStatus>(hosts.map((host) => [host, addHost(host, 0)]));

/** Stores what follows from new facts: what DNS has, or what the authority says. */
function update(host: string, facts: HostFacts, at: number): void {
  const status = domains.get(host);
  if (status !== undefined) domains.set(host, nextStatus(status, facts, at));
}

const dns = await serveDns(records);

/** Verifies every domain that is not live. For those whose certificate is then pending, it is requested. */
async function verifyAll(at: number): Promise<void> {
  // Names that many hosts share, such as the platform's and the registry's, are looked up once.
  const resolver = memoizeResolver(createDnsResolver({ servers: [dns.address], timeoutMs: 10_000 }));
  let running = 0;
  let most = 0;
  const queue = createQueue<string>(CONCURRENCY, async (host) => {
    most = Math.max(most, ++running);
    update(host, await verifyHost(host, { resolver, target: PLATFORM }), at);
    running -= 1;
  });
  for (const [host, { state }] of domains) if (state !== "live") queue.push(host);
  await queue.drained();
  process.stdout.write(`at most ${most} at the same time\n`);
}

function report(title: string, at: number): void {
  const counts: Record<string, number> = {};
  for (const domain of domains.values()) {
    const { state, attention } = statusAt(domain, at);
    const name = attention === undefined ? state : `${state} (${attention})`;
    counts[name] = (counts[name] ?? 0) + 1;
  }
  const text = Object.entries(counts)
    .toSorted()
    .map(([name, count]) => `${count} ${name}`);
  process.stdout.write(`${title}: ${text.join(", ")}\n`);
}

await verifyAll(0);
report("first check", 0);

// The authority issues a certificate for every pending domain except one, which it rejects, and one, which it forgets.
const pending = [...domains.values()].filter(({ state }) => state === "certificate_pending");
for (const [index, { host }] of pending.entries()) {
  if (index === 0) update(host, { authority: "rejected" }, MINUTE);
  else if (index > 1) update(host, { authority: "issued" }, MINUTE);
}
report("after a minute", MINUTE);

// The customers fix their records, and the domains that needed attention are verified again.
for (const host of hosts) {
  records.set(host, { cname: PLATFORM });
  records.delete(host.replace("shop.", ""));
}
const later = 31 * MINUTE;
report("after 31 minutes", later);
const [rejected] = pending;
if (rejected !== undefined) {
  const advice = adviceFor(domains.get(rejected.host) ?? rejected);
  process.stdout.write(`to the customer: ${advice[0]}\n`);
}
for (const [host, domain] of domains) {
  if (statusAt(domain, later).state === "needs_attention") domains.set(host, addHost(host, later));
}
await verifyAll(later);
report("second check", later);
for (const host of hosts) update(host, { authority: "issued" }, later + MINUTE);
report("in the end", later + MINUTE);
await dns.close();

// Each request asks the database, which answers later. `customers.isCustomHost` is for `startMetricsServer`.
const customers = hostLookup(async (host) => (domains.get(host)?.state === "live" ? "serve" : undefined));
const handler = createHandler({ store: createMemoryStore(), hosts: () => customers });
const server = await startNodeServer({ handler, port: 0 });
const [first = "", second = ""] = hosts;
const before = `${await statusOf(first)} ${await statusOf(second)} ${await statusOf("shop.nobody.com")}`;
domains.delete(first);
process.stdout.write(`served: ${before}; after a removal: ${await statusOf(first)}\n`);
await server.close();

/** Sends a request with any Host header, which fetch does not allow. */
function statusOf(host: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const sent = request(server.url, { path: "/v1/store/orders", headers: { host } }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    sent.on("error", reject).end();
  });
}
