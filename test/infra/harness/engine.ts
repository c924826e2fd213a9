import * as grpc from "@grpc/grpc-js";
import engineService from "@pulumi/pulumi/proto/engine_grpc_pb.js";
import engine from "@pulumi/pulumi/proto/engine_pb.js";
import resourceService from "@pulumi/pulumi/proto/resource_grpc_pb.js";
import resource from "@pulumi/pulumi/proto/resource_pb.js";
import empty from "google-protobuf/google/protobuf/empty_pb.js";
import struct from "google-protobuf/google/protobuf/struct_pb.js";
import { type Cloud, type Operation, type State, startDeployment } from "./deployment.ts";
import { createHooks } from "./hooks.ts";
import { type Registration, type RunKind, toRegistration } from "./registration.ts";
import { decode, type Value } from "./wire.ts";

interface Call<Request> {
  readonly request: Request;
}
type Reply = (error: unknown, response?: unknown) => void;
type Service = Readonly<Record<string, (call: Call<never>, reply: Reply) => void>>;

export type { Registration } from "./registration.ts";

/** A call of a provider function by the program. */
export interface Invoke {
  readonly token: string;
  readonly args: Readonly<Record<string, Value>>;
}

export interface Recording {
  readonly registrations: Registration[];
  readonly invokes: Invoke[];
  /** By URN: what the engine did, or in a preview would do, in this order. */
  readonly operations: ReadonlyMap<string, Operation>;
  readonly state: State;
  readonly logs: { readonly severity: number; readonly message: string }[];
  stackOutputs: Readonly<Record<string, Value>>;
}

export interface Engine {
  readonly address: string;
  readonly recording: Recording;
  /** Resolves once a resource could not be registered: Pulumi's engine ends the program then. */
  readonly failure: Promise<void>;
  /** Ends the run with the exit code of the program. Returns that of the command line. */
  stop(code: number): number;
}

/** A function of the engine itself. */
const READ_STATE = "pulumi:pulumi:readStackResourceOutputs";

/** The outputs of the resources in a state: what a resource has got as an input, its provider also returns. */
const outputsOf = (state: State): Readonly<Record<string, Value>> =>
  Object.fromEntries(
    [...state].map(
      ([
        urn,
        {
          outputs,
          registration: { type, inputs },
        },
      ]) => [urn, { type, outputs: { ...inputs, ...outputs } }],
    ),
  );

/** Starts the parts of Pulumi's engine and resource monitor that a program uses: registrations, invokes, logs, hooks. */
export async function startEngine(kind: RunKind, cloud: Cloud, previous: State): Promise<Engine> {
  let hasFailed = false;
  const { promise: failure, resolve: endProgram } = Promise.withResolvers<void>();
  const hooks = createHooks(kind);
  /** Like Pulumi's engine: the run fails, but a preview continues, so that all of it is shown. */
  const report = (message: string) => {
    hasFailed = true;
    recording.logs.push({ severity: 3, message });
  };
  const deployment = startDeployment({ cloud, previous, kind, hooks, report });
  const { operations, state } = deployment;
  const recording: Recording = {
    registrations: [],
    invokes: [],
    operations,
    state,
    logs: [],
    stackOutputs: {},
  };
  let root = "";

  const monitor = {
    getDeploymentInfo(_call: unknown, reply: Reply) {
      const info = new resource.DeploymentInfo();
      info.setSupportedfeaturesList(
        Object.values(resource.ResourceMonitorFeature).filter((feature) => typeof feature === "number"),
      );
      reply(null, info);
    },
    supportsFeature(_call: unknown, reply: Reply) {
      const response = new resource.SupportsFeatureResponse();
      response.setHassupport(true);
      reply(null, response);
    },
    registerPackage(_call: unknown, reply: Reply) {
      const response = new resource.RegisterPackageResponse();
      response.setRef("package");
      reply(null, response);
    },
    invoke({ request }: Call<InstanceType<typeof resource.ResourceInvokeRequest>>, reply: Reply) {
      const args = decode(request.getArgs()?.toJavaScript() ?? {}) as Invoke["args"];
      const call = { token: request.getTok(), args };
      recording.invokes.push(call);
      const response = new resource.ResourceInvokeResponse();
      try {
        const error = call.token === READ_STATE ? cloud.readErrors?.shift() : undefined;
        if (error !== undefined) throw new Error(error);
        const result = call.token === READ_STATE ? { outputs: outputsOf(previous) } : cloud.invoke(call);
        response.setReturn(struct.Struct.fromJavaScript({ ...args, ...result }));
        reply(null, response);
      } catch (error) {
        reply({ code: grpc.status.UNKNOWN, message: error instanceof Error ? error.message : String(error) });
      }
    },
    registerErrorHook(
      { request }: Call<InstanceType<typeof resource.RegisterErrorHookRequest>>,
      reply: Reply,
    ) {
      hooks.addErrorHook(request);
      reply(null, new empty.Empty());
    },
    registerResourceHook(
      { request }: Call<InstanceType<typeof resource.RegisterResourceHookRequest>>,
      reply: Reply,
    ) {
      try {
        hooks.addResourceHook(request);
        reply(null, new empty.Empty());
      } catch (error) {
        reply(error);
      }
    },
    async registerResource(
      { request }: Call<InstanceType<typeof resource.RegisterResourceRequest>>,
      reply: Reply,
    ) {
      const inputs = request.getObject()?.toJavaScript() ?? {};
      const registration = toRegistration(request, inputs, kind);
      if (recording.registrations.some(({ urn }) => urn === registration.urn)) {
        reply({ code: grpc.status.ALREADY_EXISTS, message: `Duplicate resource URN '${registration.urn}'` });
        return;
      }
      recording.registrations.push(registration);
      const response = new resource.RegisterResourceResponse();
      response.setUrn(registration.urn);
      try {
        const known = deployment.register(registration);
        if (known !== undefined && registration.custom) response.setId(known.id);
        response.setObject(struct.Struct.fromJavaScript({ ...inputs, ...known?.outputs }));
        reply(null, response);
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        for (const name of request.getHooks()?.getOnErrorList() ?? [])
          await hooks.callErrorHook(name, registration, inputs, message);
        // Like Pulumi's engine, which reports the error itself and stops the program by shutting down.
        report(message);
        reply({ code: grpc.status.UNAVAILABLE, message: "resource monitor shut down" });
        endProgram();
      }
    },
    registerResourceOutputs(
      { request }: Call<InstanceType<typeof resource.RegisterResourceOutputsRequest>>,
      reply: Reply,
    ) {
      if (request.getUrn() === root)
        recording.stackOutputs = decode(
          request.getOutputs()?.toJavaScript() ?? {},
        ) as Recording["stackOutputs"];
      reply(null, new empty.Empty());
    },
    /** The program has ended without an error, and waits, because its hooks may be called yet. */
    async signalAndWaitForShutdown(_call: unknown, reply: Reply) {
      if (kind.preview || !hasFailed) await deployment.complete();
      reply(null, new empty.Empty());
    },
  };

  const host = {
    log({ request }: { readonly request: InstanceType<typeof engine.LogRequest> }, reply: Reply) {
      recording.logs.push({ severity: request.getSeverity(), message: request.getMessage() });
      reply(null, new empty.Empty());
    },
    getRootResource(_call: unknown, reply: Reply) {
      const response = new engine.GetRootResourceResponse();
      response.setUrn(root);
      reply(null, response);
    },
    setRootResource({ request }: { readonly request: { getUrn(): string } }, reply: Reply) {
      root = request.getUrn();
      reply(null, new engine.SetRootResourceResponse());
    },
    requirePulumiVersion(_call: unknown, reply: Reply) {
      reply(null, new engine.RequirePulumiVersionResponse());
    },
  };

  // A registration contains the whole bundle.
  const server = new grpc.Server({
    "grpc.max_receive_message_length": -1,
    "grpc.max_send_message_length": -1,
  });
  server.addService(
    resourceService.ResourceMonitorService as unknown as grpc.ServiceDefinition,
    completeService(resourceService.ResourceMonitorService, monitor),
  );
  server.addService(
    engineService.EngineService as unknown as grpc.ServiceDefinition,
    completeService(engineService.EngineService, host),
  );
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", grpc.ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
  return {
    address: `127.0.0.1:${port}`,
    recording,
    failure,
    stop(code) {
      server.forceShutdown();
      return hasFailed ? 1 : code;
    },
  };
}

/** Completes an implementation: every other method of the service fails with its name. */
function completeService(definition: object, implemented: object): grpc.UntypedServiceImplementation {
  const methods = Object.keys(definition).map((method) => {
    const missing = (_call: unknown, reply: Reply) =>
      reply({ code: grpc.status.UNIMPLEMENTED, message: `The test engine does not implement ${method}.` });
    return [method, (implemented as Service)[method] ?? missing];
  });
  return Object.fromEntries(methods);
}
