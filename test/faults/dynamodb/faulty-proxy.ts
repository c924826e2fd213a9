/** Stands between a client and an engine of DynamoDB, and does to each request what it is told to. */
import { once } from "node:events";
import http, { type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { buffer } from "node:stream/consumers";

/** What becomes of a request. */
export type Fault =
  /** Nothing is wrong. */
  | "pass"
  /** The engine refuses it, for now. */
  | "throttle"
  /** The engine has a failure of its own. */
  | "error"
  /** Something in between answers in the engine's place, and not in its language. */
  | "garble"
  /** The connection breaks before the engine has it. */
  | "cut"
  /** The engine never has it, and nobody says so. */
  | "hang"
  /** The engine does it, and the connection breaks instead of the answer. */
  | "lose"
  /** The engine does it, and the connection breaks in the middle of the answer. */
  | "tear"
  /** The engine does it, and the answer never comes. */
  | "withhold"
  /** The engine gives a page of few rows, or of none, and says that there is more. */
  | "shorten";

/** A request on its way. */
export interface Passing {
  /** Such as `UpdateItem`. */
  readonly operation: string;
  readonly table: string;
  /** Which of the client's tries it is, from 1. */
  readonly attempt: number;
  /** True for a page that goes on where another one ended. */
  readonly continues: boolean;
}

export interface FaultyProxy {
  readonly port: number;
  /** Decides about each request. @default everything passes */
  choose: (passing: Passing) => Fault;
  /** What happens between a request that the engine has done and the loss of its answer. @default nothing */
  meanwhile?: (() => Promise<unknown>) | undefined;
  /** How many requests had each fault. */
  readonly had: Record<Fault, number>;
  /** Writes that the engine has done, by table, and how many of those whose answer did not arrive. */
  readonly writes: Map<string, { done: number; unanswered: number }>;
  close(): Promise<void>;
}

/** Starts a proxy before the engine at a port. */
export async function startFaultyProxy(engine: number): Promise<FaultyProxy> {
  const agent = new http.Agent({ keepAlive: true });
  // Node's own limit on idle connections would look like a client that gave up.
  const server = http.createServer({ keepAliveTimeout: 0 }, (request, response) => {
    sent.delete(request.socket);
    void handle(request, response).catch(() => response.destroy());
  });
  // A client that has its answer keeps the connection; one that closes it had given up, whatever was sent by then.
  const sent = new WeakMap<Socket, { unanswered: number }>();
  server.on("connection", (socket) => {
    socket.on("close", () => {
      const writes = sent.get(socket);
      if (writes !== undefined) writes.unanswered++;
    });
  });

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(request);
    const input = JSON.parse(body.toString()) as Input;
    const operation = `${request.headers["x-amz-target"]}`.split(".").at(-1) ?? "";
    const attempt = Number(/attempt=(\d+)/.exec(`${request.headers["amz-sdk-request"]}`)?.[1] ?? 1);
    const continues = input.ExclusiveStartKey !== undefined;
    const fault = proxy.choose({ operation, table: input.TableName, attempt, continues });
    proxy.had[fault]++;
    if (fault === "hang") return;
    if (fault === "cut") return void response.destroy();
    const refusal = fault === "garble" ? GARBLED[proxy.had.garble % 2] : ACCOUNT_ERRORS[fault];
    if (refusal !== undefined)
      return void response.writeHead(refusal.status, refusal.headers).end(refusal.body);

    const asked = fault === "shorten" ? Buffer.from(JSON.stringify({ ...input, Limit: SHORT })) : body;
    const answer = await forward(request, asked);
    const isWrite = /UpdateItem|PutItem/.test(operation) && answer.status === 200;
    const writes = proxy.writes.get(input.TableName) ?? { done: 0, unanswered: 0 };
    if (isWrite) proxy.writes.set(input.TableName, writes);
    if (isWrite) writes.done++;
    const arrives = fault === "pass" || fault === "shorten";
    if (isWrite && (!arrives || response.destroyed)) writes.unanswered++;
    else if (isWrite) sent.set(request.socket, writes);

    if (fault === "withhold") return;
    if (fault === "lose") {
      await proxy.meanwhile?.();
      return void response.destroy();
    }
    const whole =
      fault === "shorten" && proxy.had.shorten % 2 === 0 ? emptied(answer.body, input) : answer.body;
    response.writeHead(answer.status, { ...answer.headers, "content-length": whole.length });
    if (arrives) return void response.end(whole);
    response.write(whole.subarray(0, Math.floor(whole.length / 2)), () => response.destroy());
  }

  async function forward(request: IncomingMessage, body: Buffer) {
    const { method, url, headers } = request;
    const options = {
      agent,
      port: engine,
      method,
      path: url,
      headers: { ...headers, "content-length": body.length },
    };
    const onward = http.request({ ...options, host: "127.0.0.1" }).end(body);
    const [answer] = (await once(onward, "response")) as [IncomingMessage];
    const { "x-amz-crc32": _ofTheWhole, "transfer-encoding": _chunked, ...kept } = answer.headers;
    return { status: answer.statusCode ?? 502, headers: kept, body: await buffer(answer) };
  }

  await once(server.listen(0, "127.0.0.1"), "listening");
  const proxy: FaultyProxy = {
    port: (server.address() as AddressInfo).port,
    choose: () => "pass",
    had: { ...NONE },
    writes: new Map(),
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

/** Rows of a page that was shortened. */
const SHORT = 20;

interface Input {
  readonly TableName: string;
  readonly ExclusiveStartKey?: object;
}

/** A page that goes on from another one without any rows: the engine may give such, and it is not the last. */
function emptied(body: Buffer, { ExclusiveStartKey: from }: Input): Buffer {
  if (from === undefined) return body;
  return Buffer.from(JSON.stringify({ Items: [], Count: 0, ScannedCount: 0, LastEvaluatedKey: from }));
}

const NONE: Record<Fault, number> = {
  ...{ pass: 0, throttle: 0, error: 0, garble: 0, cut: 0, hang: 0 },
  ...{ lose: 0, tear: 0, withhold: 0, shorten: 0 },
};

const refusal = (status: number, type: string, message: string) => ({
  status,
  headers: { "content-type": "application/x-amz-json-1.0" },
  body: JSON.stringify({ __type: `com.amazonaws.dynamodb.v20120810#${type}`, message }),
});

const ACCOUNT_ERRORS: Partial<Record<Fault, ReturnType<typeof refusal>>> = {
  throttle: refusal(400, "ProvisionedThroughputExceededException", "Slow down."),
  error: refusal(500, "InternalServerError", "Something broke."),
};

const GARBLED = [
  { status: 200, headers: { "content-type": "text/html" }, body: "<html><h1>Welcome</h1></html>" },
  { status: 200, headers: { "content-type": "application/x-amz-json-1.0" }, body: "null" },
];
