/**
 * Loads a bundled function and sends it one request: `function-process.ts MODULE KEY` reports the milliseconds to its
 * parent.
 */
import { pathToFileURL } from "node:url";

const [file = "", key = ""] = process.argv.slice(2);
const event = {
  ...{ resource: "/{proxy+}", httpMethod: "GET", path: "/v1/pets/1", headers: null, pathParameters: null },
  ...{
    queryStringParameters: null,
    multiValueQueryStringParameters: null,
    body: null,
    isBase64Encoded: false,
  },
  multiValueHeaders: { Authorization: [`Bearer ${key}`] },
  requestContext: {
    ...{ apiId: "a1b2c3", domainName: "a1b2c3.execute-api.eu-central-1.amazonaws.com", stage: "live" },
    ...{ path: "/live/v1/pets/1", requestId: "request-1", identity: { sourceIp: "192.0.2.1" } },
  },
};

const startedAt = performance.now();
const { api } = await import(pathToFileURL(file).href);
const { statusCode, body } = await api(event, {
  awsRequestId: "request-1",
  getRemainingTimeInMillis: () => 10_000,
});
const time = performance.now() - startedAt;
// There is no such pet, so the request was admitted, and nothing else was read.
if (statusCode !== 404) throw new Error(`The function returned ${statusCode}: ${body}`);
process.send?.(time);
process.disconnect();
// The module may keep handles open.
process.exit();
