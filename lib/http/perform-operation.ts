import type { Clock } from "../clock.ts";
import { ERRORS, type ErrorCode } from "../errors.ts";
import { checkReply } from "./check-reply.ts";
import { isSunset } from "./deprecation.ts";
import { type OperationCall, readParameters } from "./operation-call.ts";
import type { OperationHandlers } from "./operation-handlers.ts";
import type { Operation } from "./operations.ts";
import type { Reply } from "./reply.ts";
import type { Route } from "./router.ts";

type Handle = (call: OperationCall) => Promise<Reply>;

/** Creates a function that performs the operation of a route for an admitted request. */
export function createPerformer(
  operations: readonly (Operation & { readonly handle?: Handle })[],
  handlers: OperationHandlers,
  clock: Clock,
): (route: Route, admitted: Omit<OperationCall, "parameters">) => Promise<Reply> {
  // Each handler gets the parameters of its own operation.
  const handles = handlers as unknown as Readonly<Record<string, Handle>>;
  const performers = new Map(
    operations.map((operation) => {
      const { id, parameters, handle: own } = operation;
      const handle =
        own === undefined ? handles[id] : async (call: OperationCall) => checkReply(await own(call));
      return [id, { parameters, handle, notFound: notFoundError(operation) }] as const;
    }),
  );

  return async (route, admitted) => {
    if (route.error !== undefined) return route;
    const { operation, values } = route;
    const { deprecation, id } = operation;
    if (deprecation !== undefined && isSunset(deprecation, clock())) return { error: "operation_sunset" };
    const { handle, parameters, notFound = "route_not_found" } = performers.get(id) ?? {};
    const read = readParameters(parameters, values);
    if (read === undefined) return { error: notFound };
    if (handle === undefined) throw new Error(`The operation ${id} has no implementation.`);
    return handle({ ...admitted, parameters: read });
  };
}

/** The error for an identifier that names no resource. */
function notFoundError({ errors }: Operation): ErrorCode {
  return errors.find((code) => ERRORS[code].status === 404) ?? "route_not_found";
}
