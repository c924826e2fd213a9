import { ERRORS, InvalidInputError, type Issue } from "../errors.ts";
import { findDeprecationIssues } from "./deprecation.ts";
import { parameterNames } from "./operation-call.ts";
import { OPERATIONS, type Operation } from "./operations.ts";

const METHODS: ReadonlySet<string> = new Set(["GET", "POST", "PUT", "PATCH", "DELETE"]);
const PATH = /^(?:\/(?:[A-Za-z0-9._~-]+|\{\w+\}))+$/;
const IMPLEMENTED: ReadonlySet<string> = new Set(OPERATIONS.map(({ id }) => id));

/** Throws `InvalidInputError` with everything that is wrong with the operations. */
export function validateOperations(operations: readonly Operation[]): void {
  const issues = operations.flatMap((operation, index) =>
    [...findIssues(operation), ...findDuplicates(operation, operations.slice(0, index))].map(
      ({ path, message }): Issue => ({ path: `operations[${index}].${path}`, message }),
    ),
  );
  if (issues.length > 0) throw new InvalidInputError(issues);
}

function* findIssues(operation: Operation & { readonly handle?: unknown }): Iterable<Issue> {
  const { id, method, path, parameters = {}, errors, handle, deprecation } = operation;
  if (typeof handle !== "function" && !(handle === undefined && IMPLEMENTED.has(id)))
    yield { path: "handle", message: `The operation ${id} has no implementation. Add a function 'handle'.` };
  if (!METHODS.has(method)) yield { path: "method", message: `Use one of: ${[...METHODS].join(", ")}.` };
  if (!PATH.test(path)) {
    yield {
      path: "path",
      message: "Use a path such as /store/orders/{orderId}, without a slash at the end.",
    };
  }
  const names = parameterNames(path);
  const described = Object.keys(parameters);
  for (const name of names.filter((each) => !described.includes(each)))
    yield { path: `parameters.${name}`, message: "Describe this parameter of the path." };
  for (const name of described.filter((each) => !names.includes(each)))
    yield { path: `parameters.${name}`, message: `The path has no {${name}}. Add it there, or remove it.` };
  for (const code of errors) {
    if (!Object.hasOwn(ERRORS, code)) yield { path: "errors", message: `There is no error code '${code}'.` };
  }
  for (const issue of deprecation === undefined ? [] : findDeprecationIssues(deprecation))
    yield { path: `deprecation.${issue.path}`, message: issue.message };
}

function* findDuplicates({ id, method, path }: Operation, earlier: readonly Operation[]): Iterable<Issue> {
  if (earlier.some((other) => other.id === id))
    yield { path: "id", message: `Another operation is named ${id} too. Rename one.` };
  const shape = (text: string) => text.replaceAll(/\{\w+\}/g, "{}");
  if (earlier.some((other) => other.method === method && shape(other.path) === shape(path)))
    yield { path: "path", message: `Another operation has ${method} ${path} too. Change one.` };
}
