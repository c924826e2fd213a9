import { once } from "node:events";
import http from "node:http";
import type { AddressInfo } from "node:net";
import type { Value } from "./wire.ts";

/** A statement of a policy, as a registration holds it. */
export interface PolicyStatement {
  readonly Action: readonly string[];
  readonly Resource: string;
}

/** A relay that lets through what a policy allows, and notes it. */
export interface AuthorisedWire {
  readonly endpoint: string;
  /** What passed and what was refused: `dynamodb:GetItem` on the name of a table. */
  readonly used: ReadonlySet<string>;
  readonly refused: ReadonlySet<string>;
  close(): Promise<void>;
}

/** Everything that statements allow on tables, in the words of `used`. */
export function allowedOnTables(policy: Value | undefined): readonly string[] {
  const { Statement } = policy as unknown as { Statement: readonly PolicyStatement[] };
  return Statement.flatMap(({ Action, Resource }) =>
    Action.map((action) => `${action} on ${Resource.split(":table/")[1] ?? ""}`),
  )
    .filter((text) => text.startsWith("dynamodb:"))
    .sort();
}

/** Stands before an endpoint of DynamoDB as IAM stands before the real one. */
export async function authorise(endpoint: string, allowed: readonly string[]): Promise<AuthorisedWire> {
  const upstream = new URL(endpoint);
  const used = new Set<string>();
  const refused = new Set<string>();
  const server = http.createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    const operation = String(request.headers["x-amz-target"]).split(".")[1];
    const call = `dynamodb:${operation} on ${JSON.parse(body.toString()).TableName}`;
    if (!allowed.includes(call)) {
      refused.add(call);
      response.writeHead(400, { "content-type": "application/x-amz-json-1.0" });
      response.end(JSON.stringify({ __type: "AccessDeniedException", message: `not authorized: ${call}` }));
      return;
    }
    used.add(call);
    const { method = "POST", url = "/", headers } = request;
    const onward = http.request(upstream, { method, path: url, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    onward.end(body);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    used,
    refused,
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}
