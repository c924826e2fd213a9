import type { ProxyEvent } from "./event.ts";

/** True if every field of a proxy event that is read has the right type. */
export function isProxyEvent(event: unknown): event is ProxyEvent {
  if (!isRecord(event) || !isRecord(event["requestContext"])) return false;
  const { apiId, domainName, requestId, path, identity } = event["requestContext"];
  return (
    typeof event["httpMethod"] === "string" &&
    typeof event["path"] === "string" &&
    isFields(event["multiValueHeaders"]) &&
    isFields(event["multiValueQueryStringParameters"]) &&
    isOptionalString(event["body"]) &&
    ["boolean", "undefined"].includes(typeof event["isBase64Encoded"]) &&
    [apiId, domainName, requestId, path].every((value) => value === undefined || typeof value === "string") &&
    (isAbsent(identity) || (isRecord(identity) && isOptionalString(identity["sourceIp"])))
  );
}

/** Describes a value by its fields and their types, without their values, which can hold a key. */
export function describeEvent(event: unknown): string {
  if (!isRecord(event)) return `The event is ${typeOf(event)}, not an object.`;
  // A name could contain a line break and so forge a line of the log.
  const fields = Object.entries(event).map(
    ([name, value]) => `${name.replace(/[^\w-]/g, "?")}: ${typeOf(value)}`,
  );
  const description = `The event is not a proxy event of a REST API; it has {${fields.join(", ")}}.`;
  return description.slice(0, MAX_DESCRIPTION_CHARS);
}

const MAX_DESCRIPTION_CHARS = 1_000;

function typeOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null;
}

function isOptionalString(value: unknown): boolean {
  return isAbsent(value) || typeof value === "string";
}

function isFields(value: unknown): boolean {
  if (isAbsent(value)) return true;
  if (!isRecord(value)) return false;
  return Object.values(value).every(
    (values) =>
      values === undefined || (Array.isArray(values) && values.every((each) => typeof each === "string")),
  );
}
