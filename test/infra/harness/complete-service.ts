import * as grpc from "@grpc/grpc-js";

export interface Call<Request> {
  readonly request: Request;
}

export type Reply = (error: unknown, response?: unknown) => void;
type Service = Readonly<Record<string, (call: Call<never>, reply: Reply) => void>>;

/** Completes an implementation: every other method of the service fails with its name. */
export function completeService(definition: object, implemented: object): grpc.UntypedServiceImplementation {
  const methods = Object.keys(definition).map((method) => {
    const missing = (_call: unknown, reply: Reply) =>
      reply({ code: grpc.status.UNIMPLEMENTED, message: `The test engine does not implement ${method}.` });
    return [method, (implemented as Service)[method] ?? missing];
  });
  return Object.fromEntries(methods);
}
