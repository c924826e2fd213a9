import type { Caller } from "../accounts/admission.ts";
import { ERRORS, type ErrorCode } from "../errors.ts";
import { isSunset } from "./deprecation.ts";
import { type OperationCall, readParameters } from "./operation-call.ts";
import { createOperationHandlers, type OperationDependencies } from "./operation-handlers.ts";
import type { Operation } from "./operations.ts";
import type { RequestHead } from "./plain-response.ts";
import type { Reply } from "./reply.ts";
import type { Route } from "./router.ts";

/** An admitted request. */
interface AdmittedRequest {
  readonly request: RequestHead;
  readonly requestId: string;
  readonly caller: Caller | undefined;
}

type Handle = (call: OperationCall) => Promise<Reply>;

/** Creates a function that performs the operation of a route for an admitted request. */
export function createPerformer(
  operations: readonly (Operation & { readonly handle?: Handle })[],
  dependencies: OperationDependencies,
): (route: Route, admitted: AdmittedRequest) => Promise<Reply> {
  const { clock } = dependencies;
  // Each handler gets the parameters of its own operation.
  const handlers = createOperationHandlers(dependencies) as unknown as Readonly<Record<string, Handle>>;
  const performers = new Map(
    operations.map((operation) => {
      const { parameters } = operation;
      const handle = operation.handle ?? handlers[operation.id];
      return [operation.id, { parameters, handle, notFound: notFoundError(operation) }] as const;
    }),
  );

  return async (route, { request, requestId, caller }) => {
    if (route.error !== undefined) return route;
    const { operation, values } = route;
    const { deprecation, id } = operation;
    if (deprecation !== undefined && isSunset(deprecation, clock())) return { error: "operation_sunset" };
    const { handle, parameters, notFound = "route_not_found" } = performers.get(id) ?? {};
    const read = readParameters(parameters, values);
    if (read === undefined) return { error: notFound };
    if (handle === undefined || caller === undefined)
      throw new Error(`The operation ${id} cannot be called.`);
    return handle({ request, requestId, caller, parameters: read });
  };
}

/** The error for an identifier that names no resource. */
function notFoundError({ errors }: Operation): ErrorCode {
  return errors.find((code) => ERRORS[code].status === 404) ?? "route_not_found";
}
