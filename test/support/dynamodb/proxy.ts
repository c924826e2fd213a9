import { once } from "node:events";
import http, { type IncomingMessage, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { buffer } from "node:stream/consumers";
import { listenOn } from "../free-port.ts";
import { consumedUnits } from "./consumed-units.ts";
import { createFaultCounts, type Fault, responseTo } from "./fault-responses.ts";

export interface ProxiedRequest {
  /** For example `UpdateItem`. */
  readonly operation: string;
  readonly table: string;
  readonly index?: string | undefined;
  /** The identifier of the item, of a request to one item of the accounts. */
  readonly item?: string | undefined;
  /** The client's attempt, from 1. */
  readonly attempt: number;
  readonly continues: boolean;
}

/** Starts a proxy in front of DynamoDB that records every request and injects faults. The endpoint may be left out if no request is forwarded. */
export async function startProxy(
  endpoint = "http://127.0.0.1:0",
  chooseFault: (request: ProxiedRequest) => Fault = () => "pass",
) {
  const agent = new http.Agent({ keepAlive: true });
  let operations: string[] = [];
  /** Not counted before they are first taken, because counting them changes each request. */
  let units: number[] | undefined;
  // Without this, Node would close idle connections, which would look like a client timeout.
  const server = http.createServer({ keepAliveTimeout: 0 }, (request, response) => {
    answered.delete(request.socket);
    void handle(request, response).catch(() => response.destroy());
  });
  // A client keeps the connection after a response. If it closes the connection instead, it has timed out.
  const answered = new WeakMap<Socket, { unanswered: number }>();
  server.on("connection", (socket) => {
    socket.on("close", () => {
      const writes = answered.get(socket);
      if (writes !== undefined) writes.unanswered++;
    });
  });

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(request);
    const input = JSON.parse(body.toString()) as Input;
    const operation = `${request.headers["x-amz-target"]}`.split(".").at(-1) ?? "";
    operations.push(operation);
    const attempt = Number(/attempt=(\d+)/.exec(`${request.headers["amz-sdk-request"]}`)?.[1] ?? 1);
    const continues = input.ExclusiveStartKey !== undefined;
    const table = tableOf(input);
    const item = input.Key?.id?.S;
    const fault = proxy.chooseFault({ operation, table, index: input.IndexName, item, attempt, continues });
    const number = proxy.faults[fault]++;
    if (fault === "hang") return;
    if (fault === "cut") return void response.destroy();
    const injected = responseTo(fault, number);
    if (injected !== undefined) {
      response.writeHead(injected.status, { "content-type": injected.contentType }).end(injected.body);
      return;
    }

    const changes = {
      ...(fault === "shorten" ? { Limit: SHORT_PAGE_ROWS } : {}),
      ...(units === undefined ? {} : { ReturnConsumedCapacity: "TOTAL" }),
    };
    const isChanged = Object.keys(changes).length > 0;
    const answer = await forward(
      request,
      isChanged ? Buffer.from(JSON.stringify({ ...input, ...changes })) : body,
    );
    units?.push(consumedUnits(answer.body));
    const arrives = fault === "pass" || fault === "shorten";
    if (/UpdateItem|PutItem/.test(operation) && answer.status === 200) {
      const writes = proxy.writes.get(input.TableName ?? "") ?? { done: 0, unanswered: 0 };
      proxy.writes.set(input.TableName ?? "", writes);
      writes.done++;
      if (!arrives || response.destroyed) writes.unanswered++;
      else answered.set(request.socket, writes);
    }

    if (fault === "withhold") return;
    if (fault === "lose") {
      await proxy.beforeLoss?.();
      return void response.destroy();
    }
    const whole = fault === "shorten" && number % 2 === 1 ? emptyPage(answer.body, input) : answer.body;
    response.writeHead(answer.status, { ...answer.headers, "content-length": whole.length });
    if (arrives) return void response.end(whole);
    response.write(whole.subarray(0, Math.floor(whole.length / 2)), () => response.destroy());
  }

  async function forward({ method, url, headers }: IncomingMessage, body: Buffer) {
    const forwarded = http.request(new URL(url ?? "/", endpoint), {
      ...{ agent, method },
      headers: { ...headers, "content-length": body.length },
    });
    const [answer] = (await once(forwarded.end(body), "response")) as [IncomingMessage];
    // The checksum and the length are those of the whole response, which may be changed.
    const { "x-amz-crc32": _checksum, "transfer-encoding": _chunked, ...kept } = answer.headers;
    return { status: answer.statusCode ?? 502, headers: kept, body: await buffer(answer) };
  }

  const port = await listenOn(server);
  const proxy = {
    ...{ endpoint: `http://127.0.0.1:${port}`, port },
    chooseFault,
    /** Runs after the engine has done a request and before its response is lost. */
    beforeLoss: undefined as (() => Promise<unknown>) | undefined,
    /** How many requests got each fault. */
    faults: createFaultCounts(),
    /** By table: the writes that the engine has done, and those of them whose response did not arrive. */
    writes: new Map<string, { done: number; unanswered: number }>(),
    /** Returns the operations since the last call, in order. */
    takeOperations() {
      const taken = operations;
      operations = [];
      return taken;
    },
    /** Returns the capacity units of the operations since the last call, in order. Once called, they are counted. */
    takeUnits() {
      const taken = units ?? [];
      units = [];
      return taken;
    },
    async close() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      agent.destroy();
      await closed;
    },
  };
  return proxy;
}

const SHORT_PAGE_ROWS = 20;

function tableOf({ TableName, RequestItems = {} }: Input): string {
  return TableName ?? Object.keys(RequestItems)[0] ?? "";
}

interface Input {
  readonly TableName?: string;
  readonly IndexName?: string;
  /** Of a request for several items. */
  readonly RequestItems?: object;
  readonly Key?: { readonly id?: { readonly S?: string } };
  readonly ExclusiveStartKey?: object;
}

/** A page without rows that is not the last one, if it continues another page. DynamoDB may send such pages. */
function emptyPage(body: Buffer, { ExclusiveStartKey: start }: Input): Buffer {
  if (start === undefined) return body;
  return Buffer.from(JSON.stringify({ Items: [], Count: 0, ScannedCount: 0, LastEvaluatedKey: start }));
}

export type DynamodbProxy = Awaited<ReturnType<typeof startProxy>>;
