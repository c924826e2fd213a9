import { InvalidInputError, type Issue } from "../core/errors.ts";
import { findDeprecationIssues } from "./deprecation.ts";
import { fullPath, type Implementation, type Operation } from "./operations.ts";

/** An operation with its implementation. Create it with `defineOperation`, which checks types, input and replies. */
export interface CustomOperation extends Operation {
  readonly handle: Implementation;
}

/** No parameter begins with a digit: an object has such keys in the order of their numbers, not of the path. */
const PATH = /^(?:\/(?:[A-Za-z0-9._~-]+|\{[A-Za-z_]\w*\}))+$/;

/** Orders the parameters, and gives `docsUrl` to deprecations without a link. Throws `InvalidInputError` with all issues. */
export function completeOperations(
  operations: readonly Operation[],
  docsUrl: string | undefined,
): readonly Operation[] {
  const issues = operations.flatMap((operation, index) => {
    const found = [...findIssues(operation), ...findDuplicates(operation, operations.slice(0, index))];
    return found.map(({ path, message }): Issue => ({ path: `operations[${index}].${path}`, message }));
  });
  if (issues.length > 0) throw new InvalidInputError(issues);
  return operations.map((operation) => {
    const { path, parameters = {}, deprecation, handle } = operation as Operation & Partial<CustomOperation>;
    const ordered = parameterNames(path).map((name) => [name, parameters[name]]);
    // An instance of a class can have fields in its prototype, and its `handle` can need all of it.
    return Object.assign(Object.create(Object.getPrototypeOf(operation)), operation, {
      ...(handle && { handle: handle.bind(operation) }),
      ...(ordered.length > 0 && { parameters: Object.fromEntries(ordered) }),
      ...(deprecation && docsUrl !== undefined && { deprecation: { link: docsUrl, ...deprecation } }),
    });
  });
}

function* findIssues({ path, parameters = {}, deprecation }: Operation): Iterable<Issue> {
  if (!PATH.test(path))
    yield {
      path: "path",
      message:
        "Use a path such as /store/orders/{orderId}, without a slash at the end. The name of a parameter begins with a letter.",
    };
  const names = parameterNames(path);
  for (const name of new Set([...names, ...Object.keys(parameters)])) {
    if (parameters[name] === undefined)
      yield { path: `parameters.${name}`, message: "Describe this parameter of the path." };
    if (names.indexOf(name) !== names.lastIndexOf(name))
      yield { path: "path", message: `The path has {${name}} twice. Rename one.` };
    if (!names.includes(name))
      yield { path: `parameters.${name}`, message: `The path has no {${name}}. Add it there, or remove it.` };
  }
  for (const issue of deprecation === undefined ? [] : findDeprecationIssues(deprecation))
    yield { path: `deprecation.${issue.path}`, message: issue.message };
}

function* findDuplicates(operation: Operation, earlier: readonly Operation[]): Iterable<Issue> {
  const { id, method, path } = operation;
  const shape = (each: Operation) => fullPath(each).replaceAll(/\{\w+\}/g, "{}");
  const alike = earlier.filter((other) => shape(other) === shape(operation));
  const renamed = alike.find((other) => fullPath(other) !== fullPath(operation));
  if (earlier.some((other) => other.id === id))
    yield { path: "id", message: `Another operation is named ${id} too. Rename one.` };
  if (alike.some((other) => other.method === method))
    yield { path: "path", message: `Another operation has ${method} ${path} too. Change one.` };
  else if (renamed !== undefined)
    yield { path: "path", message: `The path is the same as ${renamed.path}. Write it like that.` };
}

function parameterNames(path: string): readonly string[] {
  return path.match(/(?<=\{)\w+(?=\})/g) ?? [];
}
