import * as grpc from "@grpc/grpc-js";
import engineService from "@pulumi/pulumi/proto/engine_grpc_pb.js";
import engine from "@pulumi/pulumi/proto/engine_pb.js";
import resourceService from "@pulumi/pulumi/proto/resource_grpc_pb.js";
import resource from "@pulumi/pulumi/proto/resource_pb.js";
import empty from "google-protobuf/google/protobuf/empty_pb.js";
import struct from "google-protobuf/google/protobuf/struct_pb.js";
import { type Call, completeService, type Reply } from "./complete-service.ts";
import { type Cloud, type Operation, type State, startDeployment } from "./deployment.ts";
import { createHooks } from "./hooks.ts";
import { type Registration, type RunKind, toRegistration } from "./registration.ts";
import { decode, type Value } from "./wire.ts";

export type { Registration } from "./registration.ts";

/** A call of a provider function by the program. */
export interface Invoke {
  readonly token: string;
  readonly args: Readonly<Record<string, Value>>;
  /** The reference of the provider that is called: `<URN>::<identifier>`; empty for the default one. */
  readonly provider: string;
}

/** Everything that an engine has received. */
export interface Recording {
  readonly registrations: Registration[];
  readonly invokes: Invoke[];
  /** By URN: what the engine did, or in a preview would do, in this order. */
  readonly operations: ReadonlyMap<string, Operation>;
  /** The state of the stack after the run. */
  readonly state: State;
  readonly logs: { readonly severity: number; readonly message: string }[];
  stackOutputs: Readonly<Record<string, Value>>;
}

/** A running engine. */
export interface Engine {
  readonly address: string;
  readonly recording: Recording;
  /** Ends the run with the exit code of the program. Returns that of the command line. */
  stop(code: number): number;
}

/** Starts the parts of Pulumi's engine and resource monitor that a program uses: registrations, invokes, logs, hooks. */
export async function startEngine(kind: RunKind, cloud: Cloud, previous: State): Promise<Engine> {
  let hasFailed = false;
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

  /** Like Pulumi's engine, which creates no default provider of a package for which the configuration disables it. */
  function checkProvider(token: string, provider: string): void {
    const [packageName = ""] = token.split(":");
    if (provider !== "" || packageName === "pulumi") return;
    if (kind.disabledProviders.some((disabled) => disabled === "*" || disabled === packageName))
      throw new Error(
        `Default provider for '${packageName}' disabled. '${token}' must use an explicit provider.`,
      );
  }

  const monitor = {
    getDeploymentInfo(_call: Call<unknown>, reply: Reply) {
      const info = new resource.DeploymentInfo();
      info.setSupportedfeaturesList(
        Object.values(resource.ResourceMonitorFeature).filter((feature) => typeof feature === "number"),
      );
      reply(null, info);
    },
    supportsFeature(_call: Call<unknown>, reply: Reply) {
      const response = new resource.SupportsFeatureResponse();
      response.setHassupport(true);
      reply(null, response);
    },
    registerPackage(_call: Call<unknown>, reply: Reply) {
      const response = new resource.RegisterPackageResponse();
      response.setRef("package");
      reply(null, response);
    },
    invoke({ request }: Call<InstanceType<typeof resource.ResourceInvokeRequest>>, reply: Reply) {
      const args = decode(request.getArgs()?.toJavaScript() ?? {}) as Invoke["args"];
      const call = { token: request.getTok(), args, provider: request.getProvider() };
      recording.invokes.push(call);
      const response = new resource.ResourceInvokeResponse();
      try {
        checkProvider(call.token, call.provider);
        response.setReturn(struct.Struct.fromJavaScript({ ...args, ...cloud.invoke(call) }));
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
      hooks.addResourceHook(request);
      reply(null, new empty.Empty());
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
        if (registration.custom) checkProvider(registration.type, registration.provider);
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
    async signalAndWaitForShutdown(_call: Call<unknown>, reply: Reply) {
      if (kind.preview || !hasFailed) await deployment.complete();
      reply(null, new empty.Empty());
    },
  };

  const host = {
    log({ request }: Call<InstanceType<typeof engine.LogRequest>>, reply: Reply) {
      recording.logs.push({ severity: request.getSeverity(), message: request.getMessage() });
      reply(null, new empty.Empty());
    },
    getRootResource(_call: Call<unknown>, reply: Reply) {
      const response = new engine.GetRootResourceResponse();
      response.setUrn(root);
      reply(null, response);
    },
    setRootResource({ request }: Call<InstanceType<typeof engine.SetRootResourceRequest>>, reply: Reply) {
      root = request.getUrn();
      reply(null, new engine.SetRootResourceResponse());
    },
    requirePulumiVersion(_call: Call<unknown>, reply: Reply) {
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
    stop(code) {
      server.forceShutdown();
      return hasFailed ? 1 : code;
    },
  };
}
