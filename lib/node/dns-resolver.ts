import { randomInt } from "node:crypto";
import { createSocket } from "node:dgram";
import { getServers } from "node:dns";
import { connect, isIP, isIPv6 } from "node:net";
import {
  type Answer,
  type DecodedPacket,
  decode,
  encode,
  type Packet,
  type Question,
  RECURSION_DESIRED,
  streamEncode,
} from "dns-packet";
import { abortable } from "../core/concurrency.ts";
import { invalidInput } from "../core/errors.ts";
import { assertLimits } from "../core/time.ts";
import {
  type DnsAnswer,
  type DnsFailure,
  type DnsResolver,
  normalizeName,
  type RecordData,
  type RecordType,
} from "../domains/verification/resolver.ts";

/** Options of `createDnsResolver`: the servers to query, and the time to wait. */
export interface DnsResolverOptions {
  /** `1.1.1.1`, `127.0.0.1:5353` or `[2606:4700::1111]:53`, each queried if those before fail. @default the system's */
  readonly servers?: readonly string[];
  /** The time to wait for each attempt, in milliseconds. @default 2000 */
  readonly timeoutMs?: number;
  /** The number of attempts per server. @default 2 */
  readonly maxAttempts?: number;
  /** Of the name servers of zones, which are queried for records that the resolvers may have cached. @default 53 */
  readonly nameServerPort?: number;
  /** Called with each answer: what was asked, and who answered. @default nothing */
  readonly onAnswer?: AnswerListener;
}

/** Is told of the answer of one server. */
export type AnswerListener = (query: string, server: string, answer: DnsAnswer) => void;

/**
 * Creates a resolver that queries over UDP, and over TCP if the answer is too large. Nothing is cached, and no query
 * changes the result of another. Throws an `InvalidInputError` if a server is not an IP address, or if there is none.
 */
export function createDnsResolver({
  servers = getServers(),
  timeoutMs = 2000,
  maxAttempts = 2,
  nameServerPort = 53,
  onAnswer = () => {},
}: DnsResolverOptions = {}): DnsResolver {
  assertLimits({ timeoutMs, maxAttempts });
  const limits = { timeoutMs, maxAttempts, onAnswer };
  const resolve = createResolve(parseServers(servers), limits, true);
  const at = (addresses: readonly string[]) => {
    const nameServers = addresses.map((address) => ({ address, port: nameServerPort }));
    return createResolve(nameServers, limits, false);
  };
  return Object.assign(resolve, { at });
}

interface Server {
  readonly address: string;
  readonly port: number;
}

function parseServers(servers: readonly string[]): readonly Server[] {
  if (servers.length === 0)
    throw invalidInput("servers", "The list is empty. Leave it out for the system's resolvers.");
  return servers.map((server) => {
    const [, address = server, port = "53"] = isIPv6(server) ? [] : (ADDRESS.exec(server) ?? []);
    if (isIP(address) !== 0 && Number(port) <= 65_535) return { address, port: Number(port) };
    const message = `${server || "An empty string"} is not the address of a DNS server. Write an IP address, optionally with a port, such as 1.1.1.1 or 127.0.0.1:5353.`;
    throw invalidInput("servers", message);
  });
}

const ADDRESS = /^\[?(.+?)\]?(?::(\d{1,5}))?$/;

/** Not `recursive`, it asks servers only for their own zones. */
function createResolve(
  servers: readonly Server[],
  { timeoutMs, maxAttempts, onAnswer }: Required<Omit<DnsResolverOptions, "servers" | "nameServerPort">>,
  recursive: boolean,
) {
  return async <T extends RecordType>(name: string, type: T): Promise<DnsAnswer<T>> => {
    // A name that is too long, or has an empty label, cannot exist, and cannot be encoded.
    if (name.length > 253 || /^\.|\.\./.test(name) || name.split(".").some((label) => label.length > 63))
      return { outcome: "nxdomain" };
    let failure: DnsFailure | undefined;
    const tried = new Set<Server>();
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      for (const server of servers) {
        // A server that has responded is not queried again: it would respond the same.
        if (tried.has(server)) continue;
        const query = { name, type, recursive };
        const answer = await sendQuery(query, server, timeoutMs).then(
          (response) => readAnswer(response, query),
          ({ name, code = "" }: NodeJS.ErrnoException) =>
            failed(FAILURES[name === "TimeoutError" ? name : code] ?? "unreachable"),
        );
        onAnswer(`${type} ${name}`, server.address, answer);
        if (answer.outcome !== "failed") return answer;
        if (answer.reason !== "timeout") tried.add(server);
        // The response of a server about the name is worth more than that another one is down.
        if (failure === undefined || !RESPONSES.has(failure)) failure = answer.reason;
      }
    }
    return failed(failure ?? "unreachable");
  };
}

const failed = (reason: DnsFailure) => ({ outcome: "failed", reason }) as const;

const FAILURES: Readonly<Record<string, DnsFailure>> = {
  TimeoutError: "timeout",
  ETIMEDOUT: "timeout",
  EBADMSG: "malformed",
};
const RESPONSES: ReadonlySet<DnsFailure> = new Set(["servfail", "refused", "not_authoritative"]);

interface Query {
  readonly name: string;
  readonly type: RecordType;
  readonly recursive: boolean;
}

/** A message as the library decodes it. Its types leave out the response code, and that no section is missing. */
interface Response extends DecodedPacket {
  readonly rcode: string;
  readonly questions: Question[];
  readonly answers: Answer[];
  readonly authorities: Answer[];
}

async function sendQuery(query: Query, server: Server, timeoutMs: number): Promise<Response> {
  const signal = AbortSignal.timeout(timeoutMs);
  const response = await exchangeUdp(query, server, signal);
  return response.flag_tc ? exchangeTcp(query, server, signal) : response;
}

/** The largest response that no network fragments (DNS flag day 2020). */
const UDP_PAYLOAD_BYTES = 1232;

const EDNS: Answer = {
  type: "OPT",
  name: ".",
  udpPayloadSize: UDP_PAYLOAD_BYTES,
  extendedRcode: 0,
  ednsVersion: 0,
  flags: 0,
  flag_do: false,
  options: [],
};

function prepareExchange({ name, type, recursive }: Query) {
  const { promise: response, resolve, reject } = Promise.withResolvers<Response>();
  const id = randomInt(0x10000);
  const packet: Packet = {
    type: "query",
    id,
    flags: recursive ? RECURSION_DESIRED : 0,
    questions: [{ type, name, class: "IN" }],
    additionals: [EDNS],
  };
  const receive = (message: Buffer) => {
    // The message responds to another query, as a forged message does.
    if (message.length < 12 || message.readUInt16BE(0) !== id) return;
    try {
      const decoded = decode(message) as Response;
      // The library reads an address that ends after its message.
      if (decode.bytes > message.length) throw new RangeError("The message is incomplete.");
      const [question] = decoded.questions;
      // A server that does not understand a query may leave out its question.
      const fits = question === undefined || (question.type === type && isSameName(question.name, name));
      if (decoded.type === "response" && fits) resolve(decoded);
    } catch {
      reject(malformed());
    }
  };
  return { packet, response, receive, fail: reject };
}

const malformed = () => Object.assign(new Error("The response is malformed."), { code: "EBADMSG" });

function exchangeUdp(query: Query, server: Server, signal: AbortSignal): Promise<Response> {
  const { packet, response, receive, fail } = prepareExchange(query);
  const socket = createSocket(isIPv6(server.address) ? "udp6" : "udp4");
  socket.on("error", fail).on("message", receive);
  // A callback would also be called if there is no route to the server, and the socket cannot send then.
  socket.on("connect", () => socket.send(encode(packet)));
  // A connected socket drops messages from other addresses.
  socket.connect(server.port, server.address);
  return abortable(response, signal).finally(() => socket.close());
}

function exchangeTcp(query: Query, server: Server, signal: AbortSignal): Promise<Response> {
  const { packet, response, receive, fail } = prepareExchange(query);
  const socket = connect(server.port, server.address);
  let received = Buffer.alloc(0);
  socket.on("error", fail).on("close", () => fail(malformed()));
  socket.on("data", (chunk) => {
    received = Buffer.concat([received, chunk]);
    if (received.length < 2 || received.length < 2 + received.readUInt16BE(0)) return;
    receive(received.subarray(2, 2 + received.readUInt16BE(0)));
    socket.destroy();
  });
  socket.write(streamEncode(packet));
  return abortable(response, signal).finally(() => socket.destroy());
}

function readAnswer<T extends RecordType>(response: Response, query: Query & { type: T }): DnsAnswer<T> {
  const { name, type, recursive } = query;
  const { rcode, answers, authorities, flag_aa } = response;
  if (rcode === "SERVFAIL") return failed("servfail");
  if (rcode !== "NOERROR" && rcode !== "NXDOMAIN")
    return failed(rcode === "REFUSED" || rcode === "NOTIMP" ? "refused" : "malformed");
  // The parent of a zone answers with its name servers, and without authority.
  const delegation = !recursive && type === "NS" && !flag_aa ? authorities : [];
  if (!recursive && !flag_aa && delegation.length === 0) return failed("not_authoritative");
  const aliases = followAliases(answers, name);
  const owners: readonly string[] = type === "A" || type === "AAAA" || type === "CAA" ? aliases : [name];
  const found = [...answers, ...delegation].filter(
    (answer) => answer.type === type && owners.some((owner) => isSameName(owner, answer.name)),
  );
  if (found.length > 0) {
    const records = found.map((answer) =>
      READERS[type](("data" in answer ? answer.data : undefined) as never),
    ) as RecordData[T][];
    const direct = found.some((answer) => isSameName(answer.name, name));
    return { outcome: "found", records, ...(type === "A" || type === "AAAA" ? { direct } : {}) };
  }
  if (delegation.length > 0) return failed("not_authoritative");
  const outcome = rcode === "NXDOMAIN" ? "nxdomain" : "nodata";
  const soa = authorities.find(({ type: authority }) => authority === "SOA");
  if (soa?.type !== "SOA" || aliases.length > 1) return { outcome };
  return { outcome, zone: normalizeName(soa.name) };
}

/** The name, and every name that it is an alias of in the answer. */
function followAliases(answers: readonly Answer[], name: string): readonly string[] {
  const names = [normalizeName(name)];
  for (;;) {
    const last = names.at(-1) ?? "";
    const alias = answers.find((answer) => answer.type === "CNAME" && isSameName(answer.name, last));
    const next = alias?.type === "CNAME" ? normalizeName(alias.data) : undefined;
    if (next === undefined || names.includes(next)) return names;
    names.push(next);
  }
}

const READERS: { readonly [T in RecordType]: (data: never) => RecordData[T] } = {
  A: (data: string) => data,
  AAAA: (data: string) => data,
  CNAME: normalizeName,
  NS: normalizeName,
  CAA: ({ flags = 0, tag, value }: { flags?: number; tag: string; value: string }) => ({ flags, tag, value }),
  SOA: ({ mname }: { mname: string }) => normalizeName(mname),
  DS: ({ keyTag, algorithm }: { keyTag: number; algorithm: number }) => ({ keyTag, algorithm }),
  TXT: (data: readonly Uint8Array[]) => Buffer.concat(data).toString(),
  MX: ({ exchange }: { exchange: string }) => normalizeName(exchange),
};

function isSameName(one: string, other: string): boolean {
  return normalizeName(one) === normalizeName(other);
}
