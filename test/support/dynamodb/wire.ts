import { once } from "node:events";
import http from "node:http";
import type { AddressInfo } from "node:net";

/** A relay that notes every call that passes through it, by operation. */
export interface Wire {
  readonly endpoint: string;
  /** The operations that passed since the last look, in their order. */
  calls(): readonly string[];
  close(): Promise<void>;
}

/** Puts a relay before an endpoint. A call for which `passes` says no finds its connection cut. */
export async function tapWire(
  endpoint: string,
  passes: (operation: string) => boolean = () => true,
): Promise<Wire> {
  const upstream = new URL(endpoint);
  const agent = new http.Agent({ keepAlive: true });
  let seen: string[] = [];
  const server = http.createServer((request, response) => {
    const operation = String(request.headers["x-amz-target"]).split(".")[1] ?? "";
    seen.push(operation);
    if (!passes(operation)) {
      response.destroy();
      return;
    }
    const { method = "POST", url = "/", headers } = request;
    const onward = http.request(upstream, { method, path: url, headers, agent }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    onward.on("error", () => response.destroy());
    request.pipe(onward);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls() {
      const calls = seen;
      seen = [];
      return calls;
    },
    async close() {
      server.close();
      server.closeAllConnections();
      agent.destroy();
      await once(server, "close");
    },
  };
}
