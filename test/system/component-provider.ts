import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { cp, symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import * as grpc from "@grpc/grpc-js";
import providerService from "@pulumi/pulumi/proto/provider_grpc_pb.js";
import provider from "@pulumi/pulumi/proto/provider_pb.js";
import empty from "google-protobuf/google/protobuf/empty_pb.js";
import struct from "google-protobuf/google/protobuf/struct_pb.js";
import type { Cloud } from "../infra/harness/deployment.ts";
import { type Recording, startEngine } from "../infra/harness/engine.ts";
import { decode, type Value } from "../infra/harness/wire.ts";
import { COMPILE_CACHE } from "../vitest.config.ts";
import { copyInstalled, ROOT, readJson } from "./installed.ts";

const PLUGIN_HOST = createRequire(import.meta.url).resolve("@pulumi/pulumi/cmd/run-plugin/index.js");
/** The linked packages find the project's TypeScript, which Pulumi cannot load; where the package is installed, it finds none. */
const WITHOUT_TYPESCRIPT = `data:text/javascript,import { registerHooks } from "node:module";
registerHooks({ resolve(name, context, next) {
  if (name === "typescript") throw new Error("There is no TypeScript.");
  return next(name, context);
} });`;
const NO_BUNDLING = new URL("../infra/harness/no-bundling.ts", import.meta.url).href;
const RUN = { project: "store-orders", stack: "staging" };

/**
 * Puts the component package around a copy of the installed library, and links what it needs besides. Returns its
 * folder, which is named `component`.
 */
export async function installComponentPackage(installed: string): Promise<string> {
  const source = join(ROOT, "infra/component");
  const home = copyInstalled(installed, "component");
  for (const file of ["index.js", "schema.json", "PulumiPlugin.yaml"])
    await cp(join(source, file), join(home, file));
  const { dependencies, ...manifest } = await readJson(join(source, "package.json"));
  await writeFile(join(home, "package.json"), JSON.stringify(manifest));
  for (const linked of ["@pulumi", "@aws-sdk", "esbuild"])
    await symlink(join(ROOT, "node_modules", linked), join(home, "node_modules", linked));
  return home;
}

export interface Constructed extends Recording {
  readonly urn: string;
  readonly outputs: Readonly<Record<string, Value>>;
}

/** A component to create. Values are those of a program: see `wire.ts` for the ones that are not plain. */
export interface Construction {
  readonly type: string;
  readonly name: string;
  readonly inputs: Readonly<Record<string, struct.JavaScriptValue>>;
  readonly providers?: Readonly<Record<string, string>>;
}

export interface ProviderOptions {
  readonly preview?: boolean;
  /** Bundles the functions, otherwise their code is empty. @default false */
  readonly bundle?: boolean;
}

/** Starts the provider of the package, as Pulumi runs it, beside an engine. `temporary` is its folder for temporary files. */
export async function startProvider(
  home: string,
  cloud: Cloud,
  temporary: string,
  { preview = false, bundle = false }: ProviderOptions = {},
) {
  const engine = await startEngine({ ...RUN, preview }, cloud, new Map());
  const preloaded = [...(bundle ? [] : [NO_BUNDLING]), WITHOUT_TYPESCRIPT].map((url) => `--import=${url}`);
  // As in `test/infra/harness/program.ts`.
  const flags = ["--stack-trace-limit=0", ...preloaded];
  const child = spawn(process.execPath, [...flags, PLUGIN_HOST, home, engine.address], {
    cwd: home,
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, ...COMPILE_CACHE, TMPDIR: temporary },
  });
  const port = await firstLine(child);
  const client = new providerService.ResourceProviderClient(
    `127.0.0.1:${port}`,
    grpc.credentials.createInsecure(),
    { "grpc.max_receive_message_length": -1 },
  );
  const call = <Response>(send: (reply: (error: unknown, response: Response) => void) => unknown) =>
    new Promise<Response>((resolve, reject) => {
      send((error, response) => (error === null ? resolve(response) : reject(error)));
    });

  return {
    recording: engine.recording,
    async schema() {
      const request = new provider.GetSchemaRequest();
      const response = await call<InstanceType<typeof provider.GetSchemaResponse>>((reply) =>
        client.getSchema(request, reply),
      );
      return response.getSchema();
    },
    async construct({ type, name, inputs, providers = {} }: Construction): Promise<Constructed> {
      const request = new provider.ConstructRequest();
      request.setProject(RUN.project);
      request.setStack(RUN.stack);
      request.setOrganization("shop");
      request.setDryrun(preview);
      request.setParallel(32);
      request.setMonitorendpoint(engine.address);
      request.setType(type);
      request.setName(name);
      request.setInputs(struct.Struct.fromJavaScript(inputs));
      for (const provider of Object.entries(providers)) request.getProvidersMap().set(...provider);
      const response = await call<InstanceType<typeof provider.ConstructResponse>>((reply) =>
        client.construct(request, reply),
      );
      const outputs = decode(response.getState()?.toJavaScript() ?? {}) as Constructed["outputs"];
      return { ...engine.recording, urn: response.getUrn(), outputs };
    },
    /** What Pulumi calls at the end of a run. */
    async cancel() {
      await call((reply) => client.cancel(new empty.Empty(), reply));
    },
    async [Symbol.asyncDispose]() {
      client.close();
      const ended = once(child, "close");
      child.kill("SIGKILL");
      await ended;
      engine.stop(0);
    },
  };
}

export type ComponentProvider = Awaited<ReturnType<typeof startProvider>>;

/** A provider prints its port once it listens. */
async function firstLine({ stdout, exitCode }: ChildProcess): Promise<string> {
  let text = "";
  if (stdout === null) throw new Error(`The provider ended with ${exitCode}.`);
  for await (const part of stdout.setEncoding("utf8").iterator({ destroyOnReturn: false })) {
    text += part;
    const [line = "", ...more] = text.split("\n");
    if (more.length > 0) return line;
  }
  throw new Error(`The provider ended: ${text}`);
}
