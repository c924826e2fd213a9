/**
 * Loads a bundled function and sends it one request: `function-process.ts MODULE KEY ORDER` cancels the order, or lists
 * all orders if ORDER is empty. It reports the processor time of both to its parent, in milliseconds.
 */
import { Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const [file = "", key = "", order = ""] = process.argv.slice(2);
const [method, path] = order === "" ? ["GET", "/v1/store/orders"] : ["DELETE", `/v1/store/orders/${order}`];
const event = {
  ...{ resource: "/{proxy+}", httpMethod: method, path, headers: null, pathParameters: null },
  ...{
    queryStringParameters: null,
    multiValueQueryStringParameters: null,
    body: null,
    isBase64Encoded: false,
  },
  multiValueHeaders: { Authorization: [`Bearer ${key}`], "Accept-Encoding": ["gzip"] },
  requestContext: {
    ...{ apiId: "a1b2c3", domainName: "a1b2c3.execute-api.eu-central-1.amazonaws.com", stage: "live" },
    ...{ path: `/live${path}`, requestId: "request-1", identity: { sourceIp: "192.0.2.1" } },
  },
};
const context = { awsRequestId: "request-1", getRemainingTimeInMillis: () => 10_000 };

/** The processor time of this process until now. */
const processorMs = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
};

const start = processorMs();
const { api, list } = await import(pathToFileURL(file).href);
const loaded = processorMs();
if (order !== "") {
  const { statusCode, body } = await api(event, context);
  if (statusCode !== 204) throw new Error(`The function returned ${statusCode}: ${body}`);
} else {
  let bytes = 0;
  const write = (chunk: Buffer, _encoding: string, done: () => void) => {
    bytes += chunk.length;
    done();
  };
  await list(event, new Writable({ write }), context);
  if (bytes === 0) throw new Error("The function sent nothing.");
}
process.send?.([loaded - start, processorMs() - loaded]);
process.disconnect();
// The module may keep handles open.
process.exit();
