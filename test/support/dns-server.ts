import dns2, { type Packet as DnsPacket } from "dns2";
import { getDomain } from "tldts";

const { Packet } = dns2;

/** How queries for a name and everything below it fail; the nearest name wins. `none` restores normal answers. */
export type Failure = "SERVFAIL" | "REFUSED" | "NOTIMP" | "timeout" | "none";

/**
 * Serves records over UDP like a recursive resolver: it follows CNAME records, distinguishes NXDOMAIN from a name
 * without such records, and names the zone in a negative answer: the nearest name with a SOA record, otherwise the
 * registrable domain if it has records. A line of the zone is `name TYPE data`; the key of a failure is `name`, or `TYPE name` to
 * restrict it to a type. `\n` in data is a line feed.
 */
export async function startDnsServer(zone: string, initialFailures: Readonly<Record<string, Failure>> = {}) {
  let failures = initialFailures;
  let records = parseZone(zone);
  const exists = (name: string) =>
    records.some((record) => record.name === name || record.name.endsWith(`.${name}`));

  /** The records of a name. If it does not exist, those of the wildcard below its nearest ancestor that does. */
  const recordsOf = (name: string) => {
    const owner = (below: string): string => {
      const parent = below.slice(below.indexOf(".") + 1);
      return parent === below || exists(parent) ? `*.${parent}` : owner(parent);
    };
    const matched = exists(name) ? name : owner(name);
    return records.filter((record) => record.name === matched).map((record) => expand(record, name));
  };

  const failureOf = (type: string, name: string): Failure => {
    const [nearest] = Object.entries(failures)
      .map(([key, failure]) => ({ failure, types: key.split(" ").slice(0, -1), at: key.split(" ").at(-1) }))
      .filter(({ types }) => types.length === 0 || types.includes(type))
      .filter(({ at = "" }) => name === at || name.endsWith(`.${at}`))
      .sort((one, other) => (other.at?.length ?? 0) - (one.at?.length ?? 0));
    return nearest?.failure ?? "none";
  };

  const queries: string[] = [];
  const server = dns2.createServer({
    udp: true,
    handle: (request, send) => {
      const [question] = request.questions;
      if (question === undefined) return;
      const type = Packet.typeName(question.type);
      queries.push(`${type} ${question.name}`);
      const failure = failureOf(type, question.name);
      if (failure === "timeout") return;
      const response = Packet.createResponseFromRequest(request);
      response.header.ra = 1;
      if (failure !== "none") response.header.rcode = Packet.RCODE[failure];
      else answer(response, question.name.toLowerCase(), type);
      void send(response);
    },
  });

  const soaOf = (name: string) => {
    const ancestors = name.split(".").map((_, index, labels) => labels.slice(index).join("."));
    const registrable = getDomain(name, { allowPrivateDomains: true }) ?? name;
    const parent = registrable.slice(registrable.indexOf(".") + 1);
    const zone =
      ancestors.find((each) => records.some((record) => record.name === each && record.type === "SOA")) ??
      (exists(registrable) ? registrable : parent);
    return toRecord(["", zone, "SOA", `ns1.${zone}`] as unknown as RegExpExecArray).resource;
  };

  function answer(response: DnsPacket, queried: string, type: string) {
    const seen = new Set<string>();
    for (let name = queried; !seen.has(name); ) {
      seen.add(name);
      const own = recordsOf(name);
      const matching = own.filter((record) => record.type === type);
      response.answers.push(...matching.map(({ resource }) => resource));
      const alias = own.find((record) => record.type === "CNAME");
      if (matching.length > 0) return;
      if (alias === undefined) {
        if (!exists(name) && own.length === 0) response.header.rcode = Packet.RCODE.NXDOMAIN;
        response.authorities.push(soaOf(name));
        return;
      }
      response.answers.push(alias.resource);
      name = alias.data.toLowerCase().replace(/\.$/, "");
    }
    response.header.rcode = Packet.RCODE.SERVFAIL;
  }

  const { udp } = await server.listen({ udp: { port: 0, address: "127.0.0.1" } });
  if (udp === undefined) throw new Error("The DNS server is not listening.");
  return {
    address: `127.0.0.1:${udp.port}`,
    /** Every query in order, as `TYPE name`. */
    queries,
    update(newZone: string, newFailures: typeof initialFailures = {}) {
      records = parseZone(newZone);
      failures = newFailures;
    },
    async [Symbol.asyncDispose]() {
      await server.close();
    },
  };
}

export type DnsServer = Awaited<ReturnType<typeof startDnsServer>>;

function parseZone(zone: string) {
  return zone
    .split("\n")
    .map((line) => /^\s*(\S+)\s+(\S+)\s+(.+?)\s*$/.exec(line))
    .flatMap((match) => (match === null ? [] : [toRecord(match)]));
}

function toRecord([, name = "", type = "", written = ""]: RegExpExecArray) {
  const data = written.replaceAll("\\n", "\n");
  const resource = new Packet.Resource({
    name,
    type: Packet.TYPE[type as keyof typeof Packet.TYPE],
    class: Packet.CLASS.IN,
    ttl: 60,
  });
  return { name, type, data, resource: Object.assign(resource, rdata(type, data)) };
}

/** The record as it is returned for a name: that of a wildcard has the name that was queried. */
function expand(record: ReturnType<typeof toRecord>, name: string) {
  if (record.name === name) return record;
  const copy = Object.create(record.resource) as typeof record.resource;
  return { ...record, resource: Object.assign(copy, record.resource, { name }) };
}

function rdata(type: string, data: string) {
  if (type === "CNAME") return { domain: data };
  if (type === "NS") return { ns: data };
  if (type === "SOA") {
    return { primary: data, admin: data, serial: 1, refresh: 60, retry: 60, expiration: 60, minimum: 60 };
  }
  if (type !== "CAA") return { address: data };
  const [, flags, tag, value] = /^(\d+) (\S+) "(.*)"$/.exec(data) ?? [];
  return { flags: Number(flags), tag, value };
}
