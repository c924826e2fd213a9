import { listen } from "../node/listen.ts";
import { createServer } from "../node/node-http.ts";
import type { Metrics } from "./metrics.ts";

/** Options of `startMetricsServer`. */
export interface MetricsServerOptions {
  readonly metrics: Pick<Metrics, "registry">;
  /** The metrics are for operators: do not make this address public. @default 127.0.0.1 */
  readonly host?: string;
  /** 0 chooses a free port. @default 9464 */
  readonly port?: number;
}

/** A listening server. */
export interface MetricsServer {
  /** The address of the metrics. */
  readonly url: string;
  /** Stops the server. */
  close(): Promise<void>;
}

/** Serves `GET /metrics` on an address of its own. Rejects if the address is in use or invalid. */
export async function startMetricsServer(options: MetricsServerOptions): Promise<MetricsServer> {
  const { host = "127.0.0.1", port = 9464 } = options;
  const { registry } = options.metrics;

  const server = createServer(async (req, res) => {
    const isRead = req.method === "GET" || req.method === "HEAD";
    if (!isRead || req.url?.split("?", 1)[0] !== PATH) {
      res.writeHead(404, { "content-type": "text/plain" }).end("The metrics are at /metrics.\n");
      return;
    }
    try {
      const text = await registry.metrics();
      res.writeHead(200, { "content-type": registry.contentType, "cache-control": "no-store" }).end(text);
    } catch {
      res.writeHead(500).end();
    }
  });

  const url = await listen(server, port, host);
  return {
    url: `${url}${PATH}`,
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}

const PATH = "/metrics";
