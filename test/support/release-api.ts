import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";

/** An alias as the API of Lambda returns it. */
export interface FakeAlias {
  FunctionVersion: string;
  Description?: string;
  RevisionId: string;
  RoutingConfig?: { AdditionalVersionWeights?: Record<string, number> };
}

/** The parts of the APIs of Lambda and CloudWatch that a release uses. */
export interface FakeReleaseApi extends AsyncDisposable {
  readonly endpoint: string;
  /** By function. */
  readonly aliases: Map<string, FakeAlias>;
  /** By name: the state of an alarm. */
  readonly alarms: Map<string, "OK" | "ALARM" | "INSUFFICIENT_DATA">;
  /** Every change of an alias: `list 1 + 2 (10 %)`. */
  readonly changes: string[];
  /** Called before every read of the alarms. */
  onAlarms: () => void;
}

/** Starts an endpoint with two functions, `list` and `api`, whose alias `live` is on version 1; versions 1 to 3 exist. */
export async function startReleaseApi(): Promise<FakeReleaseApi> {
  const aliases = new Map<string, FakeAlias>(
    ["list", "api"].map((name) => [name, { FunctionVersion: "1", RevisionId: "r0" }]),
  );
  const alarms: FakeReleaseApi["alarms"] = new Map([
    ["list-errors", "OK"],
    ["api-errors", "INSUFFICIENT_DATA"],
  ]);
  const changes: string[] = [];
  const server = createServer(async (request, response) => {
    const { status, body } = await answer(request);
    const type = status === 200 ? {} : { "x-amzn-errortype": String((body as { __type: string }).__type) };
    response.writeHead(status, { "content-type": "application/json", ...type }).end(JSON.stringify(body));
  });
  const failure = (status: number, type: string, message: string) => ({
    status,
    body: { __type: type, message, Message: message },
  });

  async function answer(request: IncomingMessage): Promise<{ status: number; body: unknown }> {
    const { method, url = "", headers } = request;
    if (headers["x-amz-target"] === "GraniteServiceVersion20100801.DescribeAlarms") {
      api.onAlarms();
      const { AlarmNames } = (await json(request)) as { AlarmNames: string[] };
      const found = AlarmNames.flatMap((AlarmName) => {
        const StateValue = alarms.get(AlarmName);
        return StateValue === undefined ? [] : [{ AlarmName, StateValue }];
      });
      return { status: 200, body: { MetricAlarms: found } };
    }
    const [, name = ""] = /^\/2015-03-31\/functions\/(\w+)\/aliases\/live$/.exec(url) ?? [];
    const alias = aliases.get(name);
    if (alias === undefined) return failure(404, "ResourceNotFoundException", `Function not found: ${name}`);
    if (method === "GET") return { status: 200, body: alias };
    const change = (await json(request)) as FakeAlias;
    if (change.RevisionId !== alias.RevisionId) return failure(412, "PreconditionFailedException", "stale");
    const weights = change.RoutingConfig?.AdditionalVersionWeights ?? {};
    for (const [version, weight] of Object.entries(weights)) {
      if (version === change.FunctionVersion || !/^[123]$/.test(version) || !(weight >= 0 && weight <= 1))
        return failure(400, "InvalidParameterValueException", "invalid weights");
    }
    const next = { ...alias, ...change, RevisionId: `r${changes.length + 1}` };
    aliases.set(name, next);
    const canaries = Object.entries(weights).map(([version, weight]) => ` + ${version} (${weight * 100} %)`);
    changes.push(`${name} ${change.FunctionVersion}${canaries.join("")}`);
    return { status: 200, body: next };
  }

  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const api: FakeReleaseApi = {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    aliases,
    alarms,
    changes,
    onAlarms: () => {},
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return api;
}
