import * as grpc from "@grpc/grpc-js";
import callbackService from "@pulumi/pulumi/proto/callback_grpc_pb.js";
import callback from "@pulumi/pulumi/proto/callback_pb.js";
import resource from "@pulumi/pulumi/proto/resource_pb.js";
import struct from "google-protobuf/google/protobuf/struct_pb.js";
import type { Registration } from "./registration.ts";

/** Calls an error hook of the program, as the engine does when an operation has failed. */
export async function callErrorHook(
  hook: InstanceType<typeof callback.Callback> | undefined,
  { urn, name, type }: Registration,
  inputs: { [key: string]: struct.JavaScriptValue },
  failure: string,
): Promise<void> {
  if (hook === undefined) throw new Error(`No hook was registered for ${name}.`);
  const hookRequest = new resource.ErrorHookRequest();
  hookRequest.setUrn(urn);
  hookRequest.setName(name);
  hookRequest.setType(type);
  hookRequest.setNewInputs(struct.Struct.fromJavaScript(inputs));
  hookRequest.setFailedOperation("create");
  hookRequest.setErrorsList([failure]);
  const request = new callback.CallbackInvokeRequest();
  request.setToken(hook.getToken());
  request.setRequest(hookRequest.serializeBinary());
  const client = new callbackService.CallbacksClient(hook.getTarget(), grpc.credentials.createInsecure());
  await new Promise<void>((resolve, reject) => {
    client.invoke(request, (error: unknown) => (error === null ? resolve() : reject(error)));
  });
  client.close();
}
