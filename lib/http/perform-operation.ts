import type { Clock } from "../core/time.ts";
import { parseInt64, toInt64Json } from "../orders/int64.ts";
import type { ApplyResult, OrderStore } from "../orders/order-store.ts";
import { performStoreOperation, type StoreOperation, type StoreOutcome } from "../orders/store-operation.ts";
import { acceptsGzip, gzipped } from "./compression.ts";
import { isSunset } from "./deprecation.ts";
import { ERRORS, type ErrorCode } from "./errors.ts";
import {
  BASE_PATH,
  type Implementation,
  type OPERATIONS,
  type Operation,
  type OperationCall,
  type OperationParameter,
  type ParameterValues,
} from "./operations.ts";
import { orderList } from "./order-list.ts";
import { type Reply, toWebBody } from "./response.ts";

/** A request to the API before it is admitted. Nothing of it has happened yet. */
export interface PreparedCall {
  /** Missing if no operation has this method and path. */
  readonly operation?: Operation;
  /** Its part in the store, which the store may perform in the transaction that admits the request. */
  readonly storeOperation?: StoreOperation;
  /** Returns the reply once the request is admitted. Without the `outcome` of `storeOperation`, that is performed now. */
  perform(admitted: Omit<OperationCall, "parameters">, outcome: StoreOutcome | undefined): Promise<Reply>;
}

/** The dependencies of the operations. */
interface Resources {
  readonly orders: OrderStore;
  readonly pets: PetSource;
  readonly clock: Clock;
}

/**
 * Creates a function that finds the operation for a method and a path, which must match exactly, and reads its
 * parameters.
 */
export function createCallPreparer(
  operations: readonly (Operation & { readonly handle?: Implementation })[],
  resources: Resources,
): (method: string, path: string) => PreparedCall {
  const builtIn = implementations(resources) as unknown as BuiltInImplementations;
  const routes = operations.map((operation) => toRoute(operation, builtIn));

  return (method, path) => {
    const samePath: Operation[] = [];
    for (const route of routes) {
      const match = route.pattern.exec(path);
      if (match === null) continue;
      const { operation } = route;
      if (operation.method === method || (operation.method === "GET" && method === "HEAD"))
        return prepareCall(route, match, resources);
      samePath.push(operation);
    }
    if (samePath.length === 0) return answered({ error: "route_not_found" });
    const allow = samePath.flatMap((each) => (each.method === "GET" ? ["GET", "HEAD"] : [each.method]));
    return answered({ error: "method_not_allowed", headers: { allow: allow.join(", ") } });
  };
}

interface Route {
  readonly operation: Operation;
  readonly pattern: RegExp;
  readonly implementation: Implementation | StoreImplementation;
  /** The error for an identifier that names no resource. */
  readonly notFound: ErrorCode;
}

/** The implementations of `OPERATIONS` by name. Each gets the parameters of its own operation. */
type BuiltInImplementations = Readonly<Record<string, Implementation | StoreImplementation>>;

function toRoute(
  operation: Operation & { readonly handle?: Implementation },
  builtIn: BuiltInImplementations,
): Route {
  const { id, path, errors, handle } = operation;
  const literal = path.replaceAll(".", "\\.");
  const implementation =
    handle === undefined ? builtIn[id] : async (call: OperationCall) => checkReply(await handle(call));
  if (implementation === undefined) throw new Error(`The operation ${id} has no implementation.`);
  return {
    operation,
    pattern: new RegExp(`^${BASE_PATH}${literal.replaceAll(/\{\w+\}/g, "([^/]+)")}$`),
    implementation,
    notFound: errors.find((code) => ERRORS[code].status === 404) ?? "route_not_found",
  };
}

function prepareCall(
  { operation, implementation, notFound }: Route,
  match: RegExpExecArray,
  { orders, clock }: Resources,
): PreparedCall {
  const { deprecation } = operation;
  if (deprecation !== undefined && isSunset(deprecation, clock()))
    return answered({ error: "operation_sunset" }, operation);
  const parameters = readParameters(operation.parameters, match);
  if (parameters === undefined) return answered({ error: notFound }, operation);
  if (typeof implementation === "function")
    return { operation, perform: (admitted) => implementation({ ...admitted, parameters }) };
  const storeOperation = implementation.toStoreOperation(parameters);
  return {
    operation,
    storeOperation,
    async perform(admitted, outcome) {
      const performed = outcome ?? (await performStoreOperation(orders, storeOperation, clock()));
      return implementation.toReply(performed, { ...admitted, parameters });
    },
  };
}

/** A request whose reply is known as soon as it is admitted. */
function answered(reply: Reply, operation?: Operation): PreparedCall {
  return { ...(operation && { operation }), perform: async () => reply };
}

/** Reads the parameters, which are in the order of the path. `undefined` if one is not an int64: it names no resource. */
function readParameters(
  parameters: Readonly<Record<string, OperationParameter>> = {},
  [, ...segments]: readonly string[],
): Readonly<Record<string, bigint | string>> | undefined {
  const read: Record<string, bigint | string> = {};
  let index = 0;
  for (const name in parameters) {
    const segment = decode(segments[index++] ?? "");
    const value = parameters[name]?.type === "string" ? segment : parseInt64(segment);
    if (value === undefined) return undefined;
    read[name] = value;
  }
  return read;
}

/** Decodes a segment. One with invalid escapes is returned unchanged; it names no resource. */
function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** Reads a pet for the deprecated `GET /v1/pets/{petId}`. Returns `undefined` if there is none. */
export type PetSource = (petId: bigint) => Promise<object | undefined>;

/**
 * The implementation of an operation whose only effect is in the store: its part there, and the reply to the outcome.
 * Both are pure.
 */
interface StoreImplementation<Call = OperationCall> {
  toStoreOperation(parameters: Call extends OperationCall<infer P> ? P : never): StoreOperation;
  toReply(outcome: StoreOutcome, call: Call): Promise<Reply>;
}

type Implementations = {
  readonly [O in (typeof OPERATIONS)[number] as O["id"]]:
    | Implementation<CallOf<O>>
    | StoreImplementation<CallOf<O>>;
};

type CallOf<O> = OperationCall<O extends { readonly parameters: infer P } ? ParameterValues<P> : object>;

/** Shorter lists are not compressed. */
const MIN_GZIP_CHARS = 1_024;

/** The implementations of `OPERATIONS`. */
function implementations({ pets }: Resources): Implementations {
  return {
    listOrders: {
      toStoreOperation: () => ({ type: "list" }),
      async toReply(outcome, { request }) {
        if (outcome.type !== "list") throw new TypeError("The store performed another operation.");
        const { body, ended } = await orderList(outcome);
        const headers = { vary: "accept-encoding" };
        const isShort = typeof body === "string" && body.length < MIN_GZIP_CHARS;
        if (isShort || !acceptsGzip(request.headers.get("accept-encoding"))) {
          return { status: 200, body, ended, headers };
        }
        // Nobody reads the body of a HEAD, and compressing it would read pages.
        const isHead = request.method === "HEAD";
        return {
          status: 200,
          body: isHead ? body : gzipped(toWebBody(body)),
          ended,
          headers: { ...headers, "content-encoding": "gzip" },
        };
      },
    },

    cancelOrder: {
      toStoreOperation: ({ orderId }) => ({ type: "apply", id: orderId, event: "cancel" }),
      async toReply(outcome) {
        if (outcome.type !== "apply") throw new TypeError("The store performed another operation.");
        const result = outcome.result as ApplyResult<"cancel">;
        if (!result.ok) return { error: result.code };
        return { status: 204, change: { event: "cancel", order: result.order } };
      },
    },

    async getPet({ parameters: { petId } }) {
      const pet = await pets(petId);
      return pet === undefined ? { error: "pet_not_found" } : { status: 200, body: toInt64Json(pet) };
    },
  };
}

/**
 * Returns the reply of a custom operation. Throws if no response can be made of it, which is then a 500: the
 * runtime would reject the response, and the caller would get none.
 */
function checkReply(reply: Reply): Reply {
  if (reply.error !== undefined && !Object.hasOwn(ERRORS, reply.error))
    throw new TypeError(`There is no error code '${reply.error}'. Return a code of ERRORS.`);
  if (reply.error === undefined && !STATUSES.has(reply.status))
    throw new TypeError(
      `The status ${reply.status} cannot be sent. Use one of: ${[...STATUSES].join(", ")}.`,
    );
  if (reply.error === undefined && reply.status === 204 && reply.body !== undefined)
    throw new TypeError("A response with status 204 has no body. Leave it out, or use 200.");
  for (const [name, value] of Object.entries(reply.headers ?? {})) {
    if (!HEADER_NAME.test(name) || !HEADER_VALUE.test(value))
      throw new TypeError(
        `The header ${JSON.stringify(name)} cannot be sent. Encode its name and value as ASCII.`,
      );
  }
  return reply;
}

const STATUSES: ReadonlySet<number> = new Set([200, 201, 202, 204, 301, 302]);

/** RFC 9110, section 5. */
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9a-z-]+$/i;
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
