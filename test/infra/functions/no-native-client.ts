/**
 * Preloaded before `aws-lambda-ric`: replaces its native client, which would have to be compiled, with JavaScript. It
 * posts the responses of the buffered function; everything else is the original runtime client.
 */
import { registerHooks } from "node:module";

const SOURCE = `
const http = require("node:http");
function post(path, body, headers) {
  const [host, port] = process.env.AWS_LAMBDA_RUNTIME_API.split(":");
  const fields = { "content-type": "application/json", "content-length": Buffer.byteLength(body), ...headers };
  http.request({ host, port, path, method: "POST", headers: fields }, (response) => response.resume()).end(body);
}
const path = (id, what) => "/2018-06-01/runtime/invocation/" + id + "/" + what;
module.exports = {
  initializeClient() {},
  done: (id, body) => post(path(id, "response"), body),
  error: (id, body) => post(path(id, "error"), body),
};
`;

registerHooks({
  resolve(specifier, context, next) {
    if (!specifier.endsWith("rapid-client.node")) return next(specifier, context);
    return { url: "test:rapid-client", format: "commonjs", shortCircuit: true };
  },
  load(url, context, next) {
    if (url !== "test:rapid-client") return next(url, context);
    return { format: "commonjs", source: SOURCE, shortCircuit: true };
  },
});
