import { once } from "node:events";
import http from "node:http";
import type { AddressInfo } from "node:net";
import type { Value } from "./wire.ts";

/** A statement of a policy in a registration. */
export interface PolicyStatement {
  readonly Action: readonly string[];
  readonly Resource: string;
}

/** A proxy of DynamoDB that forwards only the calls that a policy allows, and records them. */
export interface AuthorizingProxy {
  readonly endpoint: string;
  /** The forwarded and the denied calls: `dynamodb:GetItem on <table>`. */
  readonly used: ReadonlySet<string>;
  readonly denied: ReadonlySet<string>;
  close(): Promise<void>;
}

/** The calls that a policy allows on tables, in the format of `used`. */
export function allowedOnTables(policy: Value | undefined): readonly string[] {
  const { Statement } = policy as unknown as { Statement: readonly PolicyStatement[] };
  return Statement.flatMap(({ Action, Resource }) =>
    Action.map((action) => `${action} on ${Resource.split(":table/")[1] ?? ""}`),
  )
    .filter((text) => text.startsWith("dynamodb:"))
    .sort();
}

/** Starts a proxy that authorizes the calls to a DynamoDB endpoint, like IAM. */
export async function startAuthorizingProxy(
  endpoint: string,
  allowed: readonly string[],
): Promise<AuthorizingProxy> {
  const upstream = new URL(endpoint);
  const used = new Set<string>();
  const denied = new Set<string>();
  const server = http.createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    const operation = String(request.headers["x-amz-target"]).split(".")[1];
    const call = `dynamodb:${operation} on ${JSON.parse(body.toString()).TableName}`;
    if (!allowed.includes(call)) {
      denied.add(call);
      response.writeHead(400, { "content-type": "application/x-amz-json-1.0" });
      response.end(JSON.stringify({ __type: "AccessDeniedException", message: `not authorized: ${call}` }));
      return;
    }
    used.add(call);
    const { method = "POST", url = "/", headers } = request;
    const forwarded = http.request(upstream, { method, path: url, headers }, (upstreamResponse) => {
      response.writeHead(upstreamResponse.statusCode ?? 502, upstreamResponse.headers);
      upstreamResponse.pipe(response);
    });
    forwarded.end(body);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    used,
    denied,
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}
