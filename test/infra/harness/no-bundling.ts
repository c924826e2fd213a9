/**
 * Preloaded into programs whose test does not run the functions. Replaces packages that take long and do nothing here:
 * esbuild, which bundles the functions, what Pulumi loads for functions that it serialises itself, such as npm's tree
 * reader and a debugger, or for other manifests and its automation, the tracing of its calls, and the source maps of
 * compiled programs.
 */
import { registerHooks } from "node:module";

const SOURCES: Readonly<Record<string, string>> = {
  esbuild: `
export const build = async ({ entryPoints }) => ({
  outputFiles: Object.keys(entryPoints)
    .flatMap((name) => [["/" + name + ".mjs", ""], ["/" + name + ".mjs.map", '{"sources":[]}']])
    .map(([path, text]) => ({ path, text })),
});
`,
  "@npmcli/arborist": "",
  "normalize-package-data": "",
  inspector: "export class Session { connect() {} addListener() {} post(_method, done) { done(); } }",
  "js-yaml": "",
  execa: "",
  "source-map-support/register": "",
  "@opentelemetry/exporter-zipkin": "",
  "@opentelemetry/instrumentation": "",
  "@opentelemetry/instrumentation-grpc": "",
  "@opentelemetry/resources": "",
  "@opentelemetry/sdk-trace-base": "",
  "@opentelemetry/sdk-trace-node": "",
};

registerHooks({
  resolve(specifier, context, next) {
    if (!(specifier in SOURCES)) return next(specifier, context);
    return { url: `test:${specifier}`, format: "module", shortCircuit: true };
  },
  load(url, context, next) {
    const source = SOURCES[url.slice("test:".length)];
    if (!url.startsWith("test:") || source === undefined) return next(url, context);
    return { format: "module", source, shortCircuit: true };
  },
});
