import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import { listenOn } from "../../support/free-port.ts";
import { homeOfPackages } from "../../support/install-packages.ts";

/** The raw output of a function for one invocation. */
export interface Posted {
  /** A response, or the error with which the function failed. */
  readonly as: "response" | "error";
  readonly headers: IncomingHttpHeaders;
  /** As received, one entry for each chunk. */
  readonly chunks: readonly Buffer[];
  /** Contain the error of a stream that ended early. */
  readonly trailers: NodeJS.Dict<string>;
}

interface Invocation {
  readonly event: object;
  readonly disconnects: boolean;
  readonly posted: PromiseWithResolvers<Posted>;
}

/**
 * The runtime client: the one at the path in `AWS_LAMBDA_RIC`, which has its native part as on Lambda, otherwise the one
 * from npm without the native part, because building that needs a compiler.
 */
const RUNTIME_CLIENT = runtimeClient(process.env["AWS_LAMBDA_RIC"]);

function runtimeClient(built: string | undefined) {
  if (built !== undefined) return { arguments: [built], environment: {} };
  const client = `${homeOfPackages("system")}/node_modules/aws-lambda-ric/index.mjs`;
  return {
    arguments: ["--import", new URL("no-native-client.ts", import.meta.url).href, client],
    environment: { AWS_LAMBDA_NODEJS_USE_ALTERNATIVE_CLIENT_1: "true" },
  };
}

/** Starts a function of the bundle in a folder under the real runtime client, as Lambda does: `entry.list` or `entry.api`. */
export async function runFunction(
  folder: string,
  name: string,
  environment: Readonly<Record<string, string>>,
) {
  const invocations = new Map<string, Invocation>();
  const waiting: string[] = [];
  let idle: ServerResponse | undefined;
  const dispatch = () => {
    if (idle === undefined || waiting.length === 0) return;
    const id = waiting.shift() ?? "";
    idle.writeHead(200, {
      "content-type": "application/json",
      "lambda-runtime-aws-request-id": id,
      "lambda-runtime-deadline-ms": `${Date.now() + 30_000}`,
      "lambda-runtime-invoked-function-arn": `arn:aws:lambda:eu-central-1:123456789012:function:${name}`,
    });
    idle.end(JSON.stringify(invocations.get(id)?.event));
    idle = undefined;
  };

  const server = createServer(async (request, response) => {
    const [, what = "", id = "", kind = ""] =
      /runtime\/(\w+)\/([\w-]+)(?:\/(\w+))?/.exec(request.url ?? "") ?? [];
    if (what === "invocation" && id === "next") {
      idle = response;
      dispatch();
      return;
    }
    const invocation = invocations.get(id);
    if (invocation !== undefined) {
      const as = kind === "error" ? "error" : "response";
      invocation.posted.resolve(await receive(request, as, invocation.disconnects));
    }
    response.writeHead(202, invocation?.disconnects === true ? { connection: "close" } : {}).end();
  });
  // A function may take longer than the default. Its next request would meet a connection that the server closes.
  server.keepAliveTimeout = 0;

  const child = spawn(process.execPath, [...RUNTIME_CLIENT.arguments, name], {
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      AWS_LAMBDA_RUNTIME_API: `127.0.0.1:${await listenOn(server)}`,
      ...RUNTIME_CLIENT.environment,
      AWS_LAMBDA_FUNCTION_NAME: name,
      AWS_LAMBDA_FUNCTION_VERSION: "1",
      AWS_LAMBDA_FUNCTION_MEMORY_SIZE: "512",
      AWS_LAMBDA_LOG_GROUP_NAME: "group",
      AWS_LAMBDA_LOG_STREAM_NAME: "stream",
      AWS_LAMBDA_LOG_FORMAT: "JSON",
      LAMBDA_TASK_ROOT: folder,
      _HANDLER: name,
      ...environment,
    },
  });
  let log = "";
  for (const output of [child.stdout, child.stderr]) {
    output.setEncoding("utf8").on("data", (text: string) => {
      log += text;
    });
  }
  child.once("exit", (code) => {
    const exited = new Error(`The function's process exited with ${code}: ${log}`);
    for (const { posted } of invocations.values()) posted.reject(exited);
  });

  let count = 0;
  return {
    /** Invokes the function with an event. With `disconnects`, the Runtime API ends the exchange after the first chunk. */
    invoke(event: object, { disconnects = false } = {}) {
      const id = `invocation-${count++}`;
      const posted = Promise.withResolvers<Posted>();
      invocations.set(id, { event, disconnects, posted });
      waiting.push(id);
      dispatch();
      return posted.promise;
    },
    /** Everything that it wrote to standard output and standard error. */
    log: () => log,
    async stop() {
      server.close();
      server.closeAllConnections();
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, "exit");
      child.kill("SIGKILL");
      await exited;
    },
  };
}

export type RunningFunction = Awaited<ReturnType<typeof runFunction>>;

async function receive(request: IncomingMessage, as: Posted["as"], disconnects: boolean): Promise<Posted> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) {
    chunks.push(chunk);
    if (disconnects) break;
  }
  return { as, headers: request.headers, chunks, trailers: request.trailers };
}
