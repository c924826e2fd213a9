import type { IncomingMessage, ServerResponse } from "node:http";
import { settleWithin } from "../core/concurrency.ts";
import { assertOptions } from "../core/errors.ts";
import { MAX_STORE_CALL_MS } from "../core/time.ts";
import { createServer, listen } from "../node/listen.ts";
import type { Metrics } from "./metrics.ts";

/** Options of `startMetricsServer`. */
export interface MetricsServerOptions {
  readonly metrics: Pick<Metrics, "registry">;
  /**
   * True for a custom domain: `GET /domains/ask?domain=NAME`, for a server in front that requests certificates, answers
   * 200 or 404, and 503 if this fails. @default there are no custom domains
   */
  readonly isCustomHost?: ((host: string) => boolean | Promise<boolean>) | undefined;
  /** The metrics are for operators: do not make this address public. @default 127.0.0.1 */
  readonly host?: string;
  /** 0 chooses a free port. @default 9464 */
  readonly port?: number;
}

/** A listening server. */
export interface MetricsServer {
  /** The address of the metrics. */
  readonly url: string;
  close(): Promise<void>;
}

/** Serves `GET /metrics` and `GET /domains/ask` on an address of its own. Rejects if the address is in use or invalid. */
export async function startMetricsServer(options: MetricsServerOptions): Promise<MetricsServer> {
  assertOptions(options, ["metrics", "isCustomHost", "host", "port"]);
  const { host = "127.0.0.1", port = 9464, isCustomHost = () => false } = options;
  const { registry } = options.metrics;

  async function respond(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const isRead = req.method === "GET" || req.method === "HEAD";
    const [path, query = ""] = (req.url ?? "").split("?", 2);
    if (isRead && path === ASK_PATH) {
      const domain = new URLSearchParams(query).get("domain") ?? "";
      const asked = (async () => isCustomHost(domain))();
      const isKnown = await settleWithin(MAX_STORE_CALL_MS, asked).catch(() => undefined);
      const [status, answer] =
        isKnown === undefined ? [503, "unknown\n"] : isKnown ? [200, "yes\n"] : [404, "no\n"];
      res.writeHead(status, { "content-type": "text/plain", "cache-control": "no-store" }).end(answer);
      return;
    }
    if (!isRead || path !== PATH) {
      res.writeHead(404, { "content-type": "text/plain" }).end("The metrics are at /metrics.\n");
      return;
    }
    try {
      const text = await registry.metrics();
      res.writeHead(200, { "content-type": registry.contentType, "cache-control": "no-store" }).end(text);
    } catch {
      res.writeHead(500).end();
    }
  }

  // Whatever fails here, such as a registry without text, closes the connection.
  const server = createServer((req, res) => void respond(req, res).catch(() => res.destroy()));
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
const ASK_PATH = "/domains/ask";
