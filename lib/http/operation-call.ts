import type { Caller } from "../accounts/admission.ts";
import { parseInt64 } from "../orders/int64.ts";
import type { Operation, OperationParameter } from "./operations.ts";
import type { RequestHead } from "./plain-response.ts";

/** An admitted request, as an operation receives it. */
export interface OperationCall<Parameters = Readonly<Record<string, bigint | string>>> {
  /** The parameters of the path, by name. */
  readonly parameters: Parameters;
  /** The account and key of the request. */
  readonly caller: Caller;
  readonly requestId: string;
  /** Method, URL and headers. */
  readonly request: RequestHead;
}

/** The values of parameters: a `bigint` for an int64, otherwise a string. */
export type ParameterValues<Parameters> = {
  readonly [Name in keyof Parameters]: Parameters[Name] extends { readonly type: "string" } ? string : bigint;
};

/**
 * Reads the values of an operation's parameters, which are in the order of the path. `undefined` if one is not an
 * int64: it then names no resource.
 */
export function readParameters(
  parameters: Readonly<Record<string, OperationParameter>> = {},
  values: readonly string[],
): Readonly<Record<string, bigint | string>> | undefined {
  const read: Record<string, bigint | string> = {};
  let index = 0;
  for (const name in parameters) {
    const text = values[index++] ?? "";
    const value = parameters[name]?.type === "string" ? text : parseInt64(text);
    if (value === undefined) return undefined;
    read[name] = value;
  }
  return read;
}

/** The names of the parameters in a path, in order. */
export function parameterNames(path: string): readonly string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);
}

/** The operation with its parameters in the order of the path. */
export function withOrderedParameters<O extends Operation>(operation: O): O {
  const { parameters } = operation;
  if (parameters === undefined) return operation;
  const ordered = parameterNames(operation.path).flatMap((name) => {
    const parameter = parameters[name];
    return parameter === undefined ? [] : [[name, parameter] as const];
  });
  return { ...operation, parameters: Object.fromEntries(ordered) };
}
