/** A name server for this demonstration, with the zones of all customers. */
import dns2 from "dns2";

const { Packet } = dns2;

/** The records of a name: its CNAME, or the issuer that its CAA record permits. */
export interface Records {
  readonly cname?: string;
  readonly address?: string;
  readonly issuer?: string;
}

/** Serves records by name; a name with `servfail` fails. Returns the server's address. */
export async function serveDns(
  records: ReadonlyMap<string, Records | "servfail">,
): Promise<{ readonly address: string; close(): Promise<void> }> {
  const server = dns2.createServer({
    udp: true,
    handle(request, send) {
      const response = Packet.createResponseFromRequest(request);
      const [question] = request.questions;
      const name = question?.name.toLowerCase() ?? "";
      const found = records.get(name);
      const answer = (type: "A" | "CAA" | "CNAME", data: object) => {
        const resource = new Packet.Resource({
          name,
          type: Packet.TYPE[type],
          class: Packet.CLASS.IN,
          ttl: 60,
        });
        response.answers.push(Object.assign(resource, data));
      };
      if (found === "servfail") response.header.rcode = Packet.RCODE.SERVFAIL;
      else if (found === undefined) {
        const exists = [...records.keys()].some((known) => known.endsWith(`.${name}`));
        if (!exists) response.header.rcode = Packet.RCODE.NXDOMAIN;
      } else if (found.cname !== undefined) {
        answer("CNAME", { domain: found.cname });
      } else if (found.address !== undefined && question?.type === Packet.TYPE.A) {
        answer("A", { address: found.address });
      } else if (found.issuer !== undefined && question?.type === Packet.TYPE.CAA) {
        answer("CAA", { flags: 0, tag: "issue", value: found.issuer });
      }
      void send(response);
    },
  });
  const { udp } = await server.listen({ udp: { port: 0, address: "127.0.0.1" } });
  if (udp === undefined) throw new Error("The name server is not listening.");
  return { address: `127.0.0.1:${udp.port}`, close: async () => void (await server.close()) };
}
