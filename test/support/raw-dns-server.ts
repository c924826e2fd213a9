import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { type AddressInfo, createServer, type Server } from "node:net";
import { decode, encode, type Packet, type Question } from "dns-packet";

export interface Transport {
  readonly tcp: boolean;
  readonly recursive: boolean;
  /** Missing if the query has no EDNS. */
  readonly udpPayloadSize?: number;
}

/** Responds to a question: with a message, with half of one, or not at all. */
export type Respond = (question: Question, transport: Transport) => Partial<Packet> | "truncated" | undefined;

/** Another program can have the port in one of the two protocols. */
const MAX_ATTEMPTS = 10;

async function listenOnOnePort(tcp: Server, udp: Socket): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    await once(tcp.listen(0, "127.0.0.1"), "listening");
    const { port } = tcp.address() as AddressInfo;
    try {
      await once(udp.bind(port, "127.0.0.1"), "listening");
      return;
    } catch (error) {
      tcp.close();
      if (attempt === MAX_ATTEMPTS) throw error;
    }
  }
}

/** A DNS server on UDP and TCP that sends exactly what a test tells it. Closed by `await using`. */
export async function startRawDnsServer(respond: Respond) {
  let queries = 0;
  const answer = (message: Buffer, tcp: boolean): Buffer | undefined => {
    queries++;
    const query = decode(message);
    const [question] = query.questions ?? [];
    const [edns] = query.additionals ?? [];
    const payload = edns?.type === "OPT" ? { udpPayloadSize: edns.udpPayloadSize } : {};
    if (question === undefined) return undefined;
    const response = respond(question, { tcp, recursive: query.flag_rd, ...payload });
    if (response === undefined) return undefined;
    const common = { type: "response" as const, id: query.id ?? 0, questions: [question] };
    if (response !== "truncated") return encode({ ...common, ...response });
    const whole = encode({ ...common, answers: [{ type: "A", name: question.name, data: "192.0.2.1" }] });
    return whole.subarray(0, -3);
  };
  const udp = createSocket("udp4");
  udp.on("message", (message, { port, address }) => {
    const response = answer(message, false);
    if (response !== undefined) udp.send(response, port, address);
  });
  const tcp = createServer((socket) => {
    socket.on("error", () => {});
    socket.on("data", (chunk) => {
      const response = answer(chunk.subarray(2), true);
      if (response === undefined) return;
      const length = Buffer.alloc(2);
      length.writeUInt16BE(response.length);
      // In two pieces, as a network may deliver it.
      socket.write(Buffer.concat([length, response.subarray(0, 5)]));
      setImmediate(() => socket.write(response.subarray(5)));
    });
  });
  await listenOnOnePort(tcp, udp);
  return {
    address: `127.0.0.1:${(tcp.address() as AddressInfo).port}`,
    get queries() {
      return queries;
    },
    async [Symbol.asyncDispose]() {
      udp.close();
      await new Promise((resolve) => tcp.close(resolve));
    },
  };
}
