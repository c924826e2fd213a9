import type { Clock } from "../core/time.ts";
import { parseInt64 } from "../orders/int64.ts";
import type { OrderStore } from "../orders/order-store.ts";
import { performStoreOperation, type StoreOperation, type StoreOutcome } from "../orders/store-operation.ts";
import { ERRORS, type ErrorCode } from "./errors.ts";
import {
  allowedMethods,
  createImplementations,
  fullPath,
  type Implementation,
  type Operation,
  type OperationCall,
  type OperationId,
  type OperationParameter,
  type PetSource,
  type StoreImplementation,
} from "./operations.ts";
import { type Reply, readReply } from "./reply.ts";
import type { RequestHead } from "./request.ts";

interface PreparedCall {
  readonly operation?: Operation;
  /** Its part in the store, which the store may perform in the transaction that admits the request. */
  readonly storeOperation?: StoreOperation;
  /** Returns the reply once the request is admitted. Without the `outcome` of `storeOperation`, that is performed now. */
  perform(
    call: Omit<OperationCall, "parameters" | "orders">,
    outcome: StoreOutcome | undefined,
  ): Promise<Reply>;
}

interface Resources {
  readonly orders: OrderStore;
  readonly pets: PetSource;
  readonly clock: Clock;
}

export function createRouter(
  operations: readonly (Operation & { readonly handle?: Implementation })[],
  resources: Resources,
): (request: RequestHead, path: string) => PreparedCall {
  const builtIn = createImplementations(resources.pets);
  // OpenAPI: concrete paths are matched before templates. No character of a path sorts after the one of a parameter.
  const rank = (operation: Operation) => fullPath(operation).replaceAll(/\{\w+\}/g, "\uffff");
  const routes = operations
    .toSorted((a, b) => Number(rank(a) > rank(b)) - Number(rank(a) < rank(b)))
    .map((operation): Route => {
      const { id, errors, handle: implementation = builtIn[id as OperationId] } = operation;
      const literal = fullPath(operation).replaceAll(".", "\\.");
      const pattern = new RegExp(`^${literal.replaceAll(/\{\w+\}/g, "([^/]+)")}$`);
      const notFound = errors.find((code) => ERRORS[code].status === 404) ?? "route_not_found";
      return { operation, pattern, implementation, notFound };
    });

  return (request, path) => {
    const { method } = request;
    const samePath: Operation[] = [];
    for (const route of routes) {
      const match = route.pattern.exec(path);
      if (match === null) continue;
      const { operation } = route;
      if (operation.method === method || (operation.method === "GET" && method === "HEAD"))
        return prepareCall(route, match, request, resources);
      samePath.push(operation);
    }
    if (samePath.length === 0) return answered({ error: "route_not_found" });
    return answered({ error: "method_not_allowed", headers: { allow: allowedMethods(samePath) } });
  };
}

interface Route {
  readonly operation: Operation;
  readonly pattern: RegExp;
  readonly implementation: Implementation | StoreImplementation;
  readonly notFound: ErrorCode;
}

function prepareCall(
  { operation, implementation, notFound }: Route,
  match: RegExpExecArray,
  request: RequestHead,
  { orders, clock }: Resources,
): PreparedCall {
  const { deprecation } = operation;
  if (deprecation !== undefined && clock() >= Date.parse(deprecation.sunset))
    return answered({ error: "operation_sunset" }, operation);
  const parameters = readParameters(operation.parameters, match);
  if (parameters === undefined) return answered({ error: notFound }, operation);
  if (typeof implementation === "function")
    return {
      operation,
      perform: async (call) =>
        readReply(await implementation({ ...call, parameters, orders }), `The operation ${operation.id}`),
    };
  const { withoutEffect } = implementation;
  // A precondition is false for any resource that exists (RFC 9110, section 13.1): none has an entity tag or a date.
  const { headers } = request;
  const isFalse =
    (headers.get("if-match")?.trim() ?? "*") !== "*" || headers.get("if-none-match")?.trim() === "*";
  if (withoutEffect !== undefined && isFalse)
    return { operation, perform: (call) => withoutEffect({ ...call, parameters, orders }) };
  const storeOperation = implementation.toStoreOperation(parameters);
  return {
    operation,
    storeOperation,
    async perform(call, outcome) {
      const { caller, requestId } = call;
      const origin = { by: caller.keyId, requestId };
      const performed = outcome ?? (await performStoreOperation(orders, storeOperation, clock(), origin));
      return implementation.toReply(performed, { ...call, parameters, orders });
    },
  };
}

function answered(reply: Reply, operation?: Operation): PreparedCall {
  return { ...(operation && { operation }), perform: async () => reply };
}

/** Reads the parameters, which are in the order of the path. `undefined` if one is not an int64: it names no resource. */
function readParameters(
  parameters: Readonly<Record<string, OperationParameter>> = {},
  [, ...segments]: readonly string[],
): Readonly<Record<string, bigint | string>> | undefined {
  const read: [string, bigint | string][] = [];
  for (const [index, [name, { type }]] of Object.entries(parameters).entries()) {
    const segment = segments[index] ?? "";
    // The characters of an int64 are decoded already: see `parsePath`.
    const value = type === "string" ? decode(segment) : parseInt64(segment);
    if (value === undefined) return undefined;
    read.push([name, value]);
  }
  return Object.fromEntries(read);
}

/** Decodes a segment. One with invalid escapes is returned unchanged; it names no resource. */
function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
