import * as grpc from "@grpc/grpc-js";
import callbackService from "@pulumi/pulumi/proto/callback_grpc_pb.js";
import callback from "@pulumi/pulumi/proto/callback_pb.js";
import resource from "@pulumi/pulumi/proto/resource_pb.js";
import struct from "google-protobuf/google/protobuf/struct_pb.js";
import type { StateEntry } from "./deployment.ts";
import type { Registration } from "./registration.ts";

type Callback = InstanceType<typeof callback.Callback>;

export interface Hooks {
  addErrorHook(request: InstanceType<typeof resource.RegisterErrorHookRequest>): void;
  addResourceHook(request: InstanceType<typeof resource.RegisterResourceHookRequest>): void;
  callErrorHook(name: string, of: Registration, inputs: Inputs, failure: string): Promise<void>;
  /** Calls a hook before a deletion. Returns the reason why the engine stops, if it does. */
  beforeDelete(name: string, entry: StateEntry): Promise<string | undefined>;
}

type Inputs = { [key: string]: struct.JavaScriptValue };

/** Starts without any hook. In a preview, only those are called that ask for it. */
export function createHooks({ preview }: { readonly preview: boolean }): Hooks {
  const hooks = new Map<string, { readonly callback: Callback; readonly inPreview: boolean }>();
  const add = (name: string, callback: Callback | undefined, inPreview: boolean) => {
    if (hooks.has(name)) throw new Error(`resource hook already registered for name "${name}"`);
    if (callback !== undefined) hooks.set(name, { callback, inPreview });
  };

  return {
    addErrorHook: (request) => add(request.getName(), request.getCallback(), false),
    addResourceHook: (request) => add(request.getName(), request.getCallback(), request.getOnDryRun()),
    async callErrorHook(name, { urn, name: resourceName, type }, inputs, failure) {
      const hook = hooks.get(name);
      if (hook === undefined) throw new Error(`No hook was registered for ${resourceName}.`);
      const request = new resource.ErrorHookRequest();
      request.setUrn(urn);
      request.setName(resourceName);
      request.setType(type);
      request.setNewInputs(struct.Struct.fromJavaScript(inputs));
      request.setFailedOperation("create");
      request.setErrorsList([failure]);
      await call(hook.callback, request.serializeBinary());
    },
    async beforeDelete(name, { id, registration: { urn, name: resourceName, type, inputs } }) {
      const hook = hooks.get(name);
      if (hook === undefined) return `hook "${name}" was not registered`;
      if (preview && !hook.inPreview) return undefined;
      const request = new resource.ResourceHookRequest();
      request.setUrn(urn);
      request.setId(id);
      request.setName(resourceName);
      request.setType(type);
      request.setOldInputs(struct.Struct.fromJavaScript(inputs as Inputs));
      const response = await call(hook.callback, request.serializeBinary());
      const error = resource.ResourceHookResponse.deserializeBinary(response).getError();
      return error === "" ? undefined : `before hook "${name}" failed: ${error}`;
    },
  };
}

async function call(hook: Callback, payload: Uint8Array): Promise<Uint8Array> {
  const request = new callback.CallbackInvokeRequest();
  request.setToken(hook.getToken());
  request.setRequest(payload);
  const client = new callbackService.CallbacksClient(hook.getTarget(), grpc.credentials.createInsecure());
  try {
    return await new Promise((resolve, reject) => {
      client.invoke(
        request,
        (error: unknown, response: InstanceType<typeof callback.CallbackInvokeResponse>) =>
          error === null ? resolve(response.getResponse_asU8()) : reject(error),
      );
    });
  } finally {
    client.close();
  }
}
