import * as grpc from "@grpc/grpc-js";
import callbackService from "@pulumi/pulumi/proto/callback_grpc_pb.js";
import callback from "@pulumi/pulumi/proto/callback_pb.js";
import engineService from "@pulumi/pulumi/proto/engine_grpc_pb.js";
import engine from "@pulumi/pulumi/proto/engine_pb.js";
import resourceService from "@pulumi/pulumi/proto/resource_grpc_pb.js";
import resource from "@pulumi/pulumi/proto/resource_pb.js";
import empty from "google-protobuf/google/protobuf/empty_pb.js";
import struct from "google-protobuf/google/protobuf/struct_pb.js";
import { type Registration, type RunKind, toRegistration } from "./registration.ts";
import { read, type Value } from "./wire.ts";

export type { Registration } from "./registration.ts";

/** A question that the program asked a provider. */
export interface Question {
  readonly token: string;
  readonly args: Readonly<Record<string, Value>>;
}

/** The world that a program runs in. */
export interface Cloud {
  /** What the cloud adds to the inputs of a resource when it is made. */
  made(registration: Registration): { readonly id: string; readonly state: Readonly<Record<string, Value>> };
  /** Answers a question, or throws what the provider would say. */
  answer(question: Question): Readonly<Record<string, Value>>;
  /** Why a resource cannot be made. */
  fails?(registration: Registration): string | undefined;
}

/** What an engine has seen. */
export interface Seen {
  readonly registrations: Registration[];
  readonly questions: Question[];
  readonly logs: { readonly severity: number; readonly message: string }[];
  stackOutputs: Readonly<Record<string, Value>>;
}

/** An engine that listens. */
export interface Engine {
  readonly address: string;
  readonly seen: Seen;
  close(): void;
}

interface Call<Request> {
  readonly request: Request;
}
type Reply = (error: unknown, answer?: unknown) => void;
type Service = Readonly<Record<string, (call: Call<never>, reply: Reply) => void>>;

/** Starts Pulumi's engine and resource monitor as far as a program needs them: registrations, questions, logs, hooks. */
export async function startEngine(kind: RunKind, cloud: Cloud): Promise<Engine> {
  const seen: Seen = { registrations: [], questions: [], logs: [], stackOutputs: {} };
  const hooks = new Map<string, InstanceType<typeof callback.Callback>>();
  let root = "";

  const monitor = {
    getDeploymentInfo(_call: Call<unknown>, reply: Reply) {
      const info = new resource.DeploymentInfo();
      info.setSupportedfeaturesList(
        Object.values(resource.ResourceMonitorFeature).filter((feature) => typeof feature === "number"),
      );
      reply(null, info);
    },
    supportsFeature(_call: Call<unknown>, reply: Reply) {
      const answer = new resource.SupportsFeatureResponse();
      answer.setHassupport(true);
      reply(null, answer);
    },
    registerPackage(_call: Call<unknown>, reply: Reply) {
      const answer = new resource.RegisterPackageResponse();
      answer.setRef("package");
      reply(null, answer);
    },
    invoke({ request }: Call<InstanceType<typeof resource.ResourceInvokeRequest>>, reply: Reply) {
      const args = read(request.getArgs()?.toJavaScript() ?? {}) as Question["args"];
      const question = { token: request.getTok(), args };
      seen.questions.push(question);
      const answer = new resource.ResourceInvokeResponse();
      try {
        answer.setReturn(struct.Struct.fromJavaScript({ ...args, ...cloud.answer(question) }));
        reply(null, answer);
      } catch (error) {
        reply({ code: grpc.status.UNKNOWN, message: error instanceof Error ? error.message : String(error) });
      }
    },
    registerErrorHook(
      { request }: Call<InstanceType<typeof resource.RegisterErrorHookRequest>>,
      reply: Reply,
    ) {
      const hook = request.getCallback();
      if (hook !== undefined) hooks.set(request.getName(), hook);
      reply(null, new empty.Empty());
    },
    async registerResource(
      { request }: Call<InstanceType<typeof resource.RegisterResourceRequest>>,
      reply: Reply,
    ) {
      const inputs = request.getObject()?.toJavaScript() ?? {};
      const registration = toRegistration(request, inputs, kind);
      if (seen.registrations.some(({ urn }) => urn === registration.urn)) {
        reply({ code: grpc.status.ALREADY_EXISTS, message: `Duplicate resource URN '${registration.urn}'` });
        return;
      }
      seen.registrations.push(registration);
      const failure = kind.preview ? undefined : cloud.fails?.(registration);
      if (failure !== undefined) {
        for (const name of request.getHooks()?.getOnErrorList() ?? [])
          await tellHook(hooks.get(name), registration, failure);
        // Pulumi's engine tells the failure itself, and ends the program by going away.
        reply({ code: grpc.status.UNAVAILABLE, message: "resource monitor shut down" });
        return;
      }
      const answer = new resource.RegisterResourceResponse();
      answer.setUrn(registration.urn);
      const made = registration.custom && !kind.preview ? cloud.made(registration) : undefined;
      if (made !== undefined) answer.setId(made.id);
      answer.setObject(struct.Struct.fromJavaScript({ ...inputs, ...made?.state }));
      reply(null, answer);
    },
    registerResourceOutputs(
      { request }: Call<InstanceType<typeof resource.RegisterResourceOutputsRequest>>,
      reply: Reply,
    ) {
      if (request.getUrn() === root)
        seen.stackOutputs = read(request.getOutputs()?.toJavaScript() ?? {}) as Seen["stackOutputs"];
      reply(null, new empty.Empty());
    },
    signalAndWaitForShutdown(_call: Call<unknown>, reply: Reply) {
      reply(null, new empty.Empty());
    },
  };

  const host = {
    log({ request }: Call<InstanceType<typeof engine.LogRequest>>, reply: Reply) {
      seen.logs.push({ severity: request.getSeverity(), message: request.getMessage() });
      reply(null, new empty.Empty());
    },
    getRootResource(_call: Call<unknown>, reply: Reply) {
      const answer = new engine.GetRootResourceResponse();
      answer.setUrn(root);
      reply(null, answer);
    },
    setRootResource({ request }: Call<InstanceType<typeof engine.SetRootResourceRequest>>, reply: Reply) {
      root = request.getUrn();
      reply(null, new engine.SetRootResourceResponse());
    },
    requirePulumiVersion(_call: Call<unknown>, reply: Reply) {
      reply(null, new engine.RequirePulumiVersionResponse());
    },
  };

  // A registration carries the whole bundle.
  const server = new grpc.Server({
    "grpc.max_receive_message_length": -1,
    "grpc.max_send_message_length": -1,
  });
  server.addService(
    resourceService.ResourceMonitorService as unknown as grpc.ServiceDefinition,
    complete(resourceService.ResourceMonitorService, monitor),
  );
  server.addService(
    engineService.EngineService as unknown as grpc.ServiceDefinition,
    complete(engineService.EngineService, host),
  );
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", grpc.ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
  return { address: `127.0.0.1:${port}`, seen, close: () => server.forceShutdown() };
}

/** Calls a hook of the program back, as the engine does when an operation has failed. */
async function tellHook(
  hook: InstanceType<typeof callback.Callback> | undefined,
  { urn, name, type }: Registration,
  failure: string,
): Promise<void> {
  if (hook === undefined) throw new Error(`No hook was registered for ${name}.`);
  const asked = new resource.ErrorHookRequest();
  asked.setUrn(urn);
  asked.setName(name);
  asked.setType(type);
  asked.setFailedOperation("create");
  asked.setErrorsList([failure]);
  const request = new callback.CallbackInvokeRequest();
  request.setToken(hook.getToken());
  request.setRequest(asked.serializeBinary());
  const client = new callbackService.CallbacksClient(hook.getTarget(), grpc.credentials.createInsecure());
  await new Promise<void>((resolve, reject) => {
    client.invoke(request, (error: unknown) => (error === null ? resolve() : reject(error)));
  });
  client.close();
}

/** Whatever of a service is not played says so by name. */
function complete(definition: object, played: object): grpc.UntypedServiceImplementation {
  const methods = Object.keys(definition).map((method) => {
    const missing = (_call: unknown, reply: Reply) =>
      reply({ code: grpc.status.UNIMPLEMENTED, message: `The tests' engine does not play ${method}.` });
    return [method, (played as Service)[method] ?? missing];
  });
  return Object.fromEntries(methods);
}
