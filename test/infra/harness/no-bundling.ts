/**
 * Preloaded into programs whose test does not run the functions. Replaces packages that take long and do nothing here:
 * esbuild, which bundles the functions, what Pulumi loads for functions that it serialises itself, such as npm's tree
 * reader and a debugger, or for other manifests, the tracing of its calls, and the source maps of compiled programs.
 * Parts of the SDKs are loaded when they are used, which most are not.
 */
import Module from "node:module";

const esbuild = {
  build: async ({ entryPoints }: { readonly entryPoints: object }) => ({
    outputFiles: Object.keys(entryPoints)
      .flatMap((name) => [[`/${name}.mjs`, ""] as const, [`/${name}.mjs.map`, '{"sources":[]}'] as const])
      .map(([path, text]) => ({ path, text })),
  }),
};

class Session {
  connect() {}
  addListener() {}
  post(_method: string, done: () => void) {
    done();
  }
}

const REPLACED = new Map<string, object>([
  ["inspector", { Session }],
  ...[
    ...["@npmcli/arborist", "normalize-package-data", "js-yaml", "source-map-support/register"],
    ...["@opentelemetry/exporter-zipkin", "@opentelemetry/instrumentation", "@opentelemetry/resources"],
    ...["@opentelemetry/instrumentation-grpc", "@opentelemetry/sdk-trace-base"],
    "@opentelemetry/sdk-trace-node",
  ].map((name) => [name, {}] as const),
]);

/** What loads all of them: Node's official hooks would take a tenth of a run, because they are asked for every module. */
const loader = Module as unknown as {
  _load(request: string, ...more: readonly unknown[]): unknown;
  readonly prototype: { _compile(source: string, file: string, ...more: readonly unknown[]): unknown };
};

const { _load: load } = loader;
loader._load = (request, ...more) =>
  request.endsWith("/esbuild/lib/main.js") ? esbuild : (REPLACED.get(request) ?? load(request, ...more));

const { _compile: compile } = loader.prototype;
loader.prototype._compile = function (source, file, ...more) {
  const isIndex = /\/@pulumi\/\w+\/index\.js$/.test(file);
  return compile.call(this, isIndex ? source.replaceAll(PART, LAZY) : source, file, ...more);
};
const PART = /__importStar\((require\(".+"\))\)/g;
const LAZY = "new Proxy({}, { get: (_, name) => $1[name] })";
