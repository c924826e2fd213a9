import { once } from "node:events";
import http from "node:http";
import type { AddressInfo } from "node:net";

/** A proxy that records the operation of every request. */
export interface RecordingProxy {
  readonly endpoint: string;
  /** The operations since the last call, in order. */
  calls(): readonly string[];
  close(): Promise<void>;
}

/** Starts a proxy in front of an endpoint. Requests that `passes` rejects get their connection closed. */
export async function startRecordingProxy(
  endpoint: string,
  passes: (operation: string) => boolean = () => true,
): Promise<RecordingProxy> {
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
    const forwarded = http.request(upstream, { method, path: url, headers, agent }, (upstreamResponse) => {
      response.writeHead(upstreamResponse.statusCode ?? 502, upstreamResponse.headers);
      upstreamResponse.pipe(response);
    });
    forwarded.on("error", () => response.destroy());
    request.pipe(forwarded);
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
